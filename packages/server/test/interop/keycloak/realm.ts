import type { Keycloak } from './server.ts'

export const clientSecret = 'a secret between two servers'
export const passwordOf = (username: string) => `password of ${username}`
export const laptops = 'laptops'

type Mapper = { name: string; protocol: string; protocolMapper: string; config: Record<string, string> }
const groups: Mapper = {
  name: 'groups',
  protocol: 'openid-connect',
  protocolMapper: 'oidc-group-membership-mapper',
  config: { 'claim.name': 'groups', 'full.path': 'true', 'id.token.claim': 'true' },
}

const saml = (name: string, protocolMapper: string, config: Record<string, string>): Mapper => ({
  name,
  protocol: 'saml',
  protocolMapper,
  config: { 'attribute.name': name, 'attribute.nameformat': 'Basic', ...config },
})
/** As in docs/saml.md. */
const samlMappers = [
  saml('username', 'saml-user-attribute-mapper', { 'user.attribute': 'username' }),
  saml('email', 'saml-user-attribute-mapper', { 'user.attribute': 'email' }),
  saml('groups', 'saml-group-membership-mapper', { single: 'true', 'full.path': 'true' }),
]

export const person = (username: string, more: Record<string, unknown> = {}) => ({
  username,
  email: `${username}@example.com`,
  emailVerified: true,
  firstName: username,
  lastName: 'Example',
  enabled: true,
  credentials: [{ type: 'password', value: passwordOf(username) }],
  ...more,
})

let realms = 0
export const newRealmName = () => `people-${++realms}`

/**
 * Creates a realm with three clients: one for sign-in, a public one for laptops, and one that reads the directory. anna
 * is in /staff/admins; ben and the users in `staff` are in /staff, the latter without passwords. `teams` are groups
 * within /staff.
 */
export async function makeRealm(
  keycloak: Keycloak,
  name: string,
  {
    redirectUris = [],
    signedOut = '',
    loggedOut = '',
    staff = [],
    teams = [],
    secret = clientSecret,
    directoryClient = 'directory',
    needsPkce = true,
  }: {
    redirectUris?: readonly string[]
    signedOut?: string
    loggedOut?: string
    staff?: readonly string[]
    teams?: readonly string[]
    secret?: string
    directoryClient?: string
    /** If a client requires PKCE, Keycloak also requires it for device codes, for which RFC 8628 does not define it. */
    needsPkce?: boolean
  },
) {
  const representation = {
    realm: name,
    enabled: true,
    sslRequired: 'none',
    groups: [{ name: 'staff', subGroups: ['admins', ...teams].map((of) => ({ name: of })) }],
    users: [
      person('anna', { groups: ['/staff/admins'] }),
      person('ben', { groups: ['/staff'] }),
      ...staff.map((username) => person(username, { groups: ['/staff'], credentials: [] })),
      {
        username: `service-account-${directoryClient}`,
        enabled: true,
        serviceAccountClientId: directoryClient,
        clientRoles: { 'realm-management': ['view-users'] },
      },
    ],
    clients: [
      {
        clientId: 'holdfast',
        secret,
        redirectUris,
        attributes: {
          'pkce.code.challenge.method': needsPkce ? 'S256' : '',
          'oauth2.device.authorization.grant.enabled': 'true',
          'post.logout.redirect.uris': signedOut,
          'backchannel.logout.url': loggedOut,
          'backchannel.logout.session.required': 'true',
        },
        protocolMappers: [groups],
      },
      {
        clientId: laptops,
        publicClient: true,
        redirectUris: ['http://127.0.0.1/callback'],
        attributes: { 'pkce.code.challenge.method': 'S256' },
        protocolMappers: [groups],
      },
      { clientId: directoryClient, secret, serviceAccountsEnabled: true, standardFlowEnabled: false },
    ],
  }
  await keycloak.admin('POST', '/realms', { json: representation })
  const admin = async (method: string, path: string, json?: unknown) =>
    (await keycloak.admin(method, `/realms/${name}${path}`, { json })).json
  const userId = async (username: string) =>
    String((await admin('GET', `/users?exact=true&username=${username}`))[0]?.id)
  const groupId = async (path: string) => String((await admin('GET', `/group-by-path${path}`)).id)
  return {
    name,
    issuer: `${keycloak.url}/realms/${name}`,
    admin,
    userId,
    groupId,
    change: async (fields: Record<string, unknown>) => admin('PUT', '', fields),
    changeUser: async (username: string, fields: Record<string, unknown>) => {
      const path = `/users/${await userId(username)}`
      return admin('PUT', path, { ...(await admin('GET', path)), ...fields })
    },
    /** Adds a client from its SAML metadata. */
    addSamlClient: async (xml: string) => {
      const { json } = await keycloak.admin('POST', `/realms/${name}/client-description-converter`, { xml })
      // We do not sign requests; by default Keycloak requires it.
      const attributes = { ...json.attributes, 'saml.client.signature': 'false' }
      await admin('POST', '/clients', { ...json, attributes, protocolMappers: samlMappers })
    },
    /** Another key that signs from now on. */
    addKey: async () => {
      const { id: parentId } = await admin('GET', '')
      const config = { priority: ['200'], keySize: ['2048'], algorithm: ['RS256'] }
      const providerType = 'org.keycloak.keys.KeyProvider'
      await admin('POST', '/components', { name: 'next', providerId: 'rsa-generated', providerType, parentId, config })
    },
    /** The key that a realm begins with verifies no more. */
    removeFirstKey: async () => {
      const found = (await admin('GET', '/components?type=org.keycloak.keys.KeyProvider')) as {
        id: string
        name: string
        config: Record<string, string[]>
      }[]
      const first = found.find((c) => c.name === 'rsa-generated')
      await admin('DELETE', `/components/${first?.id}`)
    },
  }
}
export type Realm = Awaited<ReturnType<typeof makeRealm>>
