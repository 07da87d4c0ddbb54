/** Where a deployment is reached. */
export type Origins = {
  publicUrl: string
  /** Whether the operator said so (`HOLDFAST_PUBLIC_URL`). */
  publicUrlIsSet: boolean
  /** Loopback names of the same listener, where the operator set no public URL. */
  otherOrigins: readonly string[]
}

export const isOwnOrigin = (origin: string, { publicUrl, otherOrigins }: Origins): boolean =>
  origin === publicUrl || otherOrigins.includes(origin)

/** The issuer that a credential may name: the public URL, or what was that before by another name of the same place. */
export const issuerOf = (named: string, own: Origins): string => (isOwnOrigin(named, own) ? named : own.publicUrl)

/** What a proof of possession may name for a path. */
export const ownUrls = (path: string, { publicUrl, otherOrigins }: Origins) => ({
  url: publicUrl + path,
  otherUrls: otherOrigins.map((origin) => origin + path),
})

/** What to do instead of a request that another address sent; undefined where it names none. */
export function useInstead(doing: 'Sign in at' | 'Use', origin: string | undefined, own: Origins): string | undefined {
  if (origin === undefined || !/^https?:\/\/[^/\s]{1,255}$/.test(origin) || isOwnOrigin(origin, own)) return undefined
  const used = `you used ${origin}`
  return own.publicUrlIsSet
    ? `${doing} ${own.publicUrl}: this server's public URL is set by HOLDFAST_PUBLIC_URL, and ${used}.`
    : `${doing} ${own.publicUrl}, or set HOLDFAST_PUBLIC_URL to the address that people use: ${used}.`
}
