/** Settings of a provider for SAML 2.0. */
export type SamlProvider = {
  /** The entityID of the identity provider. */
  issuer: string
  /** Address of the sign-in, by redirect. */
  ssoUrl: string
  /** Certificates in PEM, or DER in base64. There are several while the provider changes its key. */
  certificates: readonly string[]
  /** Our entityID at the provider. */
  entityId: string
  acsUrl: string
  /**
   * True if the response itself must be signed. Otherwise one signature is enough, on the response or its assertion.
   */
  signedResponse: boolean
  /**
   * Format of the names of people; `persistent` by default. Email addresses and transient names are not supported: an
   * address can pass to another person, and a transient name is new each time.
   */
  nameIdFormat?: 'persistent' | 'unspecified'
}

/** Tolerance between the clocks of a provider and of this server. */
export const skewMs = 60_000
/** Maximum age of an assertion. */
export const maxAgeMs = 300_000
/** Maximum length in base64, which is a third longer than its XML. */
export const maxResponseLength = 256 * 1024

/**
 * True if a browser may be sent to this address to sign in: https only, with http on this machine for trying out
 * providers.
 */
export function isSsoUrl(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname, username, password, hash } = new URL(url)
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  return (protocol === 'https:' || (protocol === 'http:' && isHere)) && !username && !password && !hash
}
