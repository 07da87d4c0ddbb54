/** A provider as far as SAML 2.0 is concerned. */
export type SamlProvider = {
  /** The entityID of the identity provider. */
  issuer: string
  /** Where a person is sent to sign in, by redirect. */
  ssoUrl: string
  /** PEM or DER in base64, several while the provider changes its key. */
  certificates: readonly string[]
  /** Our entityID, as the provider knows us. */
  entityId: string
  acsUrl: string
  /** Whether the response itself must be signed. Otherwise one signature is enough, on it or on its assertion. */
  signedResponse: boolean
  /**
   * How the provider names people; `persistent` unless said otherwise. An e-mail address and a transient name are no
   * formats here: the one can pass to somebody else, the other is new each time.
   */
  nameIdFormat?: 'persistent' | 'unspecified'
}

/** How far the clocks of a provider and of ours may be apart. */
export const skewMs = 60_000
/** How long after it was issued an assertion is taken. */
export const maxAgeMs = 300_000
/** As base64, which is a third longer than the XML in it. */
export const maxResponseLength = 256 * 1024

/**
 * Whether people may be sent there with their browser to sign in: nothing but https, this machine excepted, where
 * providers are tried out.
 */
export function isSsoUrl(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname, username, password, hash } = new URL(url)
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  return (protocol === 'https:' || (protocol === 'http:' && isHere)) && !username && !password && !hash
}
