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
