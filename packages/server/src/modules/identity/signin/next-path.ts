/**
 * Returns a path of this site in the spelling that a browser requests. Undefined for anything else, in particular for a
 * text that a browser reads as another host.
 */
export function safeNext(next: string | undefined): string | undefined {
  if (next === undefined || !/^\/(?![/\\])[^\\\u0000-\u0020\u007f]*$/.test(next)) return undefined
  const base = 'http://site.invalid'
  if (!URL.canParse(next, base)) return undefined
  const url = new URL(next, base)
  const path = url.pathname + url.search + url.hash
  // Removing dot segments can leave two leading slashes, which would be a host again.
  return url.origin === base && !path.startsWith('//') ? path : undefined
}

/** Returns the target after a page of the sign-in, from its form or its address. */
export const nextOf = ({ query, form }: { query: URLSearchParams; form?: Readonly<Record<string, string>> }) =>
  safeNext(form?.next ?? query.get('next') ?? undefined)

/** Limit of an address that is carried through a sign-in. */
const longestNext = 1024

/** Adds the path to go to afterwards to a page of the sign-in. The start page is left out. */
export function withNext(page: string, url: string | undefined): string {
  const next = url === undefined || url.length > longestNext ? undefined : safeNext(url)
  return next === undefined || ['/', '/admin', '/admin/'].includes(next)
    ? page
    : `${page}?${new URLSearchParams({ next })}`
}

/** Returns the same address below /admin without trailing slashes of its path; undefined if it has none. */
export function withoutLastSlash(url: string): string | undefined {
  // No regular expression: one with two parts that match slashes would restart at each slash.
  const mark = url.indexOf('?')
  const path = mark < 0 ? url : url.slice(0, mark)
  if (!path.startsWith('/admin/') || !path.endsWith('/')) return undefined
  let end = path.length
  while (path[end - 1] === '/') end--
  return safeNext(path.slice(0, end) + url.slice(path.length))
}
