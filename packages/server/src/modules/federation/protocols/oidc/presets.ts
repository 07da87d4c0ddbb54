/** Settings of a provider for OpenID Connect. */
export type OidcProvider = {
  kind: 'oidc' | 'keycloak' | 'entra_id' | 'okta'
  issuer: string
  clientId: string
  clientSecret: string | undefined
  scopes: readonly string[]
  /** Names of the claims that affect a person. UserInfo is asked for those that an ID token lacks. */
  mappedClaims: (account: { issuer: string; subject: string }) => Promise<readonly string[]>
}
type OidcKind = OidcProvider['kind']

const maxIssuerLength = 512
const basic = ['openid', 'profile', 'email'] as const
/** Default scopes. */
export const defaultScopes: Readonly<Record<OidcKind, readonly string[]>> = {
  oidc: basic,
  keycloak: basic,
  entra_id: basic,
  okta: [...basic, 'groups'],
}

/** Hosts of the public cloud and of the sovereign clouds. */
const entraHosts: readonly string[] = [
  'login.microsoftonline.com',
  'login.microsoftonline.us',
  'login.partner.microsoftonline.cn',
]
/** Tenant of all personal accounts; `consumers` is its other name. */
const personalAccounts = '9188040d-6c67-4c5b-b112-36a304b66dad'
const entraPath = /^\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/v2\.0$/

/** Returns the tenant that an issuer of Entra ID names. */
export const entraTenantOf = (issuer: string): string | undefined =>
  URL.canParse(issuer) ? entraPath.exec(new URL(issuer).pathname)?.[1] : undefined

const shapes: Readonly<Record<OidcKind, (url: URL) => string | undefined>> = {
  oidc: () => undefined,
  keycloak: ({ pathname }) =>
    /\/realms\/[^/]+$/.test(pathname)
      ? undefined
      : 'The issuer of Keycloak must end with /realms/ and the name of the realm.',
  entra_id: (url) => {
    if (url.protocol !== 'https:' || !entraHosts.includes(url.host))
      return `The issuer of Entra ID must be on one of the hosts ${entraHosts.join(', ')}.`
    const tenant = entraTenantOf(url.href)
    if (!tenant)
      return 'The issuer of Entra ID must be https://login.microsoftonline.com/{tenant id}/v2.0 with the id of one tenant in lower case; common, organizations and consumers are not accepted.'
    return tenant === personalAccounts
      ? 'This tenant of Entra ID is for personal accounts, which anyone can create: use the tenant of your company.'
      : undefined
  },
  okta: ({ pathname }) =>
    /^\/(?:oauth2\/[^/]+)?$/.test(pathname)
      ? undefined
      : 'The issuer of Okta must be https://{organisation}, or https://{organisation}/oauth2/{id of an authorization server}.',
}

/**
 * Returns a sentence that says why a text cannot be the issuer of such a provider, or undefined. The outbound guard
 * judges its destination.
 */
export function issuerProblem(kind: OidcKind, issuer: string): string | undefined {
  if (issuer.length > maxIssuerLength || !URL.canParse(issuer))
    return `The issuer must be a URL of at most ${maxIssuerLength} characters.`
  const url = new URL(issuer)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'The issuer must begin with https://.'
  if (url.username || url.password || /[?#]/.test(issuer))
    return 'The issuer must not contain a user name, password, query or fragment.'
  if (url.href !== issuer && url.href !== `${issuer}/`)
    return 'The issuer must be a normalized URL, exactly as the provider writes it.'
  return shapes[kind](url)
}
