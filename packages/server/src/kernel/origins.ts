/** Addresses of a deployment. */
export type Origins = {
  publicUrl: string
  /** True if the operator set it (`HOLDFAST_PUBLIC_URL`). */
  publicUrlIsSet: boolean
  /** Loopback names of the same listener, if no public URL is set. */
  otherOrigins: readonly string[]
}

export const isOwnOrigin = (origin: string, { publicUrl, otherOrigins }: Origins): boolean =>
  origin === publicUrl || otherOrigins.includes(origin)

/** Returns the issuer for a credential: the named one if it is an own origin, else the public URL. */
export const namedIssuer = (named: string, own: Origins): string => (isOwnOrigin(named, own) ? named : own.publicUrl)

/** URLs that a proof of possession may name for a path. */
export const ownUrls = (path: string, { publicUrl, otherOrigins }: Origins) => ({
  url: publicUrl + path,
  otherUrls: otherOrigins.map((origin) => origin + path),
})

/** Returns the advice for a request that was sent to another address; undefined if there is no other address. */
export function useInstead(doing: 'Sign in at' | 'Use', origin: string | undefined, own: Origins): string | undefined {
  if (origin === undefined || !/^https?:\/\/[^/\s]{1,255}$/.test(origin) || isOwnOrigin(origin, own)) return undefined
  const used = `you used ${origin}`
  return own.publicUrlIsSet
    ? `${doing} ${own.publicUrl}: this server's public URL is set by HOLDFAST_PUBLIC_URL, and ${used}.`
    : `${doing} ${own.publicUrl}, or set HOLDFAST_PUBLIC_URL to the address that people use: ${used}.`
}
