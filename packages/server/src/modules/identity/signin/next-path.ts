/**
 * Where a sign-in may lead: a path of this site, in the spelling a browser would request. Anything else, above all
 * what a browser reads as another host, is undefined.
 */
export function safeNext(next: string | undefined): string | undefined {
  if (next === undefined || !/^\/(?![/\\])[^\\\u0000-\u0020\u007f]*$/.test(next)) return undefined
  const base = 'http://site.invalid'
  if (!URL.canParse(next, base)) return undefined
  const url = new URL(next, base)
  const path = url.pathname + url.search + url.hash
  // Dot segments can leave two slashes in front, which would be a host again.
  return url.origin === base && !path.startsWith('//') ? path : undefined
}

/** Where a page of the sign-in leads on to, as its form or its address says. */
export const nextOf = ({ query, form }: { query: URLSearchParams; form?: Readonly<Record<string, string>> }) =>
  safeNext(form?.next ?? query.get('next') ?? undefined)

/** Longer addresses are not carried through a sign-in. */
const longestNext = 1024

/** A page of the sign-in that leads on to a path of this site afterwards. The start page needs no mention. */
export function withNext(page: string, url: string | undefined): string {
  const next = url === undefined || url.length > longestNext ? undefined : safeNext(url)
  return next === undefined || ['/', '/admin', '/admin/'].includes(next)
    ? page
    : `${page}?${new URLSearchParams({ next })}`
}

/** The same address below /admin without slashes at the end of its path; undefined where it has none. */
export function withoutLastSlash(url: string): string | undefined {
  // Not by a regular expression: with two parts that take slashes it looks at each slash anew.
  const mark = url.indexOf('?')
  const path = mark < 0 ? url : url.slice(0, mark)
  if (!path.startsWith('/admin/') || !path.endsWith('/')) return undefined
  let end = path.length
  while (path[end - 1] === '/') end--
  return safeNext(path.slice(0, end) + url.slice(path.length))
}
