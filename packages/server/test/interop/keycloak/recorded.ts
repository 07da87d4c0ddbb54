import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { createSaml } from '../../../src/modules/federation/protocols/saml/saml.ts'
import { askDirectory, type Recorded, readRecorded, staff, teams, writeRecorded } from '../../recorded/keycloak.ts'
import { send } from '../../support/clients/raw-http.ts'
import { openProviderBrowser } from '../person.ts'
import { clientSecret, makeRealm, passwordOf, type Realm } from './realm.ts'
import type { Keycloak } from './server.ts'

const anna = { username: 'anna', password: passwordOf('anna') }
const redirectUri = 'https://holdfast.example/callback'

/**
 * Compares the recorded answers, which `npm test` uses, with those of Keycloak. `UPDATE_GOLDEN=1` records them anew.
 */
export async function asRecorded(t: TestContext, keycloak: Keycloak) {
  const told = await startListener(t)
  const realm = await makeRealm(keycloak, 'recorded', {
    redirectUris: [redirectUri],
    loggedOut: told.url,
    staff,
    teams,
  })
  const service = await realm.userId('service-account-directory')
  await realm.admin('PUT', `/users/${service}/groups/${await realm.groupId('/staff')}`)
  const recorded: Recorded = {
    at: new Date().toISOString(),
    directory: await askDirectory(realm.issuer, { id: 'directory', secret: clientSecret }),
    saml: await signedBySaml(keycloak, realm),
    oidc: await signedByOidc(realm, told.logoutToken),
  }
  if (process.env.UPDATE_GOLDEN === '1') writeRecorded(recorded)
  const before = readRecorded()
  assert.deepEqual(inOrder(recorded.directory), inOrder(before.directory))
  assert.deepEqual(shapeOf(recorded), shapeOf(before))
}

/** Keycloak lists the scopes of a token in any order. */
const inOrder = (directory: Recorded['directory']): unknown =>
  JSON.parse(JSON.stringify(directory), (name, value) =>
    name === 'scope' && typeof value === 'string' ? value.split(' ').sort().join(' ') : value,
  )

async function signedByOidc(realm: Realm, logoutToken: Promise<string>): Promise<Recorded['oidc']> {
  const { origin, pathname } = new URL(realm.issuer)
  const configuration = `${realm.issuer}/.well-known/openid-configuration`
  const metadata = (await send(origin, { path: new URL(configuration).pathname })).json
  const keys = (await send(origin, { path: new URL(metadata.jwks_uri).pathname })).json
  const [verifier, nonce] = [randomBytes(32).toString('base64url'), randomBytes(16).toString('base64url')]
  const query = new URLSearchParams({
    response_type: 'code',
    scope: 'openid profile email',
    client_id: 'holdfast',
    redirect_uri: redirectUri,
    nonce,
    code_challenge_method: 'S256',
    max_age: '600',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  })
  const { at } = await openProviderBrowser()(`${metadata.authorization_endpoint}?${query}`, anna)
  const form = {
    grant_type: 'authorization_code',
    client_id: 'holdfast',
    client_secret: clientSecret,
    code: at.searchParams.get('code') ?? '',
    redirect_uri: redirectUri,
    code_verifier: verifier,
  }
  const { json } = await send(origin, { method: 'POST', path: `${pathname}/protocol/openid-connect/token`, form })
  await realm.admin('POST', `/users/${await realm.userId('anna')}/logout`)
  return {
    issuer: realm.issuer,
    client_id: 'holdfast',
    nonce,
    documents: { [configuration]: metadata, [metadata.jwks_uri]: keys },
    id_token: json.id_token,
    logout_token: await logoutToken,
  }
}

async function signedBySaml(keycloak: Keycloak, realm: Realm): Promise<Recorded['saml']> {
  const saml = createSaml({ now: () => new Date() })
  const metadata = (await send(keycloak.url, { path: `/realms/${realm.name}/protocol/saml/descriptor` })).text
  const ours = { entityId: 'https://holdfast.example/saml', acsUrl: 'https://holdfast.example/saml/acs' }
  const read = saml.readMetadata(metadata)
  const certificates = read.certificates.map(({ pem }) => pem)
  const provider = { ...read, certificates, ...ours, signedResponse: true }
  await realm.addSamlClient(saml.metadata(provider))
  const { url, requestId } = await saml.begin(provider, { relayState: 'x' })
  const { form } = await openProviderBrowser()(url, anna)
  const own = { entity_id: ours.entityId, acs_url: ours.acsUrl, request_id: requestId }
  return { metadata, ...own, response: form?.SAMLResponse ?? '' }
}

/** Starts a listener for Keycloak's logout tokens. */
async function startListener(t: TestContext) {
  const { promise, resolve } = Promise.withResolvers<string>()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    response.end()
    resolve(new URLSearchParams(body).get('logout_token') ?? '')
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => server.close().closeAllConnections())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, logoutToken: promise }
}

/** The parts of a recording that stay the same in a new one: all the names. */
function shapeOf({ oidc, saml }: Recorded) {
  const elements = (xml: string) => Array.from(xml.matchAll(/<([\w:]+)/g), ([, name]) => name)
  const parts = (token: string) =>
    token.split('.', 2).map((part) => Object.keys(JSON.parse(Buffer.from(part, 'base64url').toString())).sort())
  return {
    documents: Object.values(oidc.documents).map((document) => Object.keys(document as object).sort()),
    tokens: [oidc.id_token, oidc.logout_token].map(parts),
    metadata: elements(saml.metadata),
    response: elements(Buffer.from(saml.response, 'base64').toString()),
  }
}
