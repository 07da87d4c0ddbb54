import type { IncomingMessage } from 'node:http'
import { contract } from '@holdfast/contract'
import { examples } from '@holdfast/contract/examples'
import { compareVersions } from '@holdfast/contract/semver'
import { generateKey, signJws, softwareSigner } from '@holdfast/crypto'
import { checkDocument, parseTarget } from '@holdfast/policy'
import { parseExpression } from '@holdfast/policy/expression'
import { parseAddress, parseNetwork } from '@holdfast/policy/network'
import { parsePort } from '@holdfast/policy/ports'
import { isZone } from '@holdfast/policy/time-window'
import { parseVersion } from '@holdfast/policy/version'
import type { TSchema } from 'typebox'
import { tokenOf } from '../../src/http/admission/authenticate.ts'
import { rangeOf } from '../../src/http/answer/range.ts'
import { expectedOf } from '../../src/http/answer/representation.ts'
import { readJson } from '../../src/http/body/read-json.ts'
import { createQueryReader, requireReadableQuery } from '../../src/http/body/read-query.ts'
import { createSourceOf } from '../../src/http/connection/source-ip.ts'
import { canonicalAddress, isCidr, isWithin, sourceBlock } from '../../src/kernel/cidr.ts'
import { decodeId } from '../../src/kernel/ids.ts'
import { patternOf, wordsOf } from '../../src/kernel/words.ts'
import { groupKind, readPath, userKind } from '../../src/modules/directory/scim/attributes.ts'
import { parseFilter } from '../../src/modules/directory/scim/filter.ts'
import { operationsOf } from '../../src/modules/directory/scim/patch.ts'
import { projectionOf } from '../../src/modules/directory/scim/projection.ts'
import { verifyIdToken } from '../../src/modules/federation/protocols/oidc/id-token.ts'
import { readKeys } from '../../src/modules/federation/protocols/oidc/keys.ts'
import { verifyLogoutToken } from '../../src/modules/federation/protocols/oidc/logout-token.ts'
import { discover } from '../../src/modules/federation/protocols/oidc/metadata.ts'
import { issuerProblem } from '../../src/modules/federation/protocols/oidc/presets.ts'
import { signingCertificates } from '../../src/modules/federation/protocols/saml/certificates.ts'
import { readIdpMetadata } from '../../src/modules/federation/protocols/saml/metadata.ts'
import { isSsoUrl } from '../../src/modules/federation/protocols/saml/provider.ts'
import { createSaml } from '../../src/modules/federation/protocols/saml/saml.ts'
import { readXml } from '../../src/modules/federation/protocols/saml/xml.ts'
import { safeNext } from '../../src/modules/identity/signin/next-path.ts'
import { createOutbound } from '../../src/outbound/outbound.ts'
import * as idp from '../support/providers/saml-responses.ts'
import { ofBytes, ofJson, ofJsonText, ofText, type Parser, parsersOfCrypto } from './parsers.ts'
import { parsersOfSdk } from './parsers-sdk.ts'

const app = { refuses: ['AppError'] }
const federation = { refuses: ['FederationError'] }
const now = idp.now
const seconds = Math.floor(now.getTime() / 1000)

/** The parsers of the policy language. */
export const parsersOfPolicy = (): Parser[] =>
  [
    ofJson('checkDocument', examples.publishPolicy.policy, checkDocument),
    ofText(
      'parseExpression',
      'os.version >= "14.2.1" && !(a in ["x", 1]) || within_last(b.c, 86400)',
      parseExpression,
      {
        refuses: ['ExpressionError'],
      },
    ),
    ofText('parseVersion', '10.0.22631-rc.1', parseVersion),
    ofText('parseAddress', '2001:db8::1:2', parseAddress),
    ofText('parseNetwork', '2001:db8::/33', parseNetwork),
    ofText('parseNetwork of IPv4', '10.1.2.0/24', parseNetwork),
    ofText('parseTarget', 'tcp/10.1.2.3:443', parseTarget),
    ofText('parsePort', 'tcp/80-443', parsePort),
    ofText('isZone', 'Europe/Berlin', isZone),
    ofText('compareVersions', '1.2.3-rc.1', (text) => compareVersions(text, '1.2.3')),
  ] as Parser[]

/** The parsers of the server's request pipeline and of its protocols. */
export async function parsersOfServer(): Promise<Parser[]> {
  const query = createQueryReader(contract.listAuditEvents.query as TSchema, { ignoresUnknown: false })
  const scim = createQueryReader(contract.listScimUsers.query as TSchema, { ignoresUnknown: true })
  const socket = { remoteAddress: '127.0.0.1' } as IncomingMessage['socket']
  const sourceOf = createSourceOf(['127.0.0.0/8', '10.0.0.0/8'], { warn: () => undefined })
  const outbound = createOutbound({ allowedPrivateCidrs: [] })
  return [
    ofText('decodeId', 'usr_01jxz3c9dqf7vr2m8k4s6t0b5w', (text) => decodeId('user', text)),
    ofText('isCidr', '2001:db8::/32', (text) => isCidr(text) && isWithin('::1', [text])),
    ofText('canonicalAddress', '::ffff:192.0.2.1', (text) => [canonicalAddress(text), sourceBlock(text)]),
    ofText('sourceOf', '203.0.113.7, [2001:db8::1]:4711, 10.0.0.1:80', (text) =>
      sourceOf({ headers: { 'x-forwarded-for': text }, socket }),
    ),
    ofText('rangeOf', 'bytes=0-499', (text) => rangeOf(text, 1000)),
    ofText('expectedOf', 'W/"abc.def", "ghi.jkl"', expectedOf, app),
    ofText('tokenOf', 'DPoP eyJhbGciOiJFUzI1NiJ9.e30.c2ln', tokenOf),
    ofText('safeNext', '/admin/users?q=a%20b#top', safeNext),
    ofText('requireReadableQuery', '/v1/x?q=%C3%A4%20b', requireReadableQuery, app),
    ofText('createQueryReader', 'limit=5&from=2026-01-01T00:00:00Z&kind=user.created&q=%C3%A4&after_seq=7', query, app),
    ofText('createQueryReader of SCIM', 'startIndex=1&count=5&filter=userName+pr&attributes=meta.location', scim, app),
    ofBytes(
      'readJson',
      Buffer.from('{"a":["\\u00e4",1.5e3,null,true,{"b":"ä"}],"n":9007199254740991}'),
      (b) => readJson(b),
      app,
    ),
    ofText('wordsOf', 'Some w0rds, über-all_1', (text) => [wordsOf(text), patternOf(text)]),
    ofText('isSsoUrl', 'https://idp.example/sso?tenant=1', isSsoUrl),
    ofText('issuerProblem', 'https://login.microsoftonline.com/8c7a1bde-0000-4000-8000-000000000000/v2.0', (text) =>
      (['oidc', 'keycloak', 'entra_id', 'okta'] as const).map((kind) => issuerProblem(kind, text)),
    ),
    ofText('refusalOf a webhook', 'https://hooks.example.com:8443/a?b=c', outbound.refusalOf),
    ofText('refusalOf an address', 'https://[::ffff:192.0.2.1]:443/', outbound.refusalOf),
    ofText('socketRefusalOf an address', '::ffff:192.0.2.1', (host) => outbound.socketRefusalOf({ host, port: 514 })),
    ofText('socketRefusalOf a syslog receiver', 'logs.example.com', (host) =>
      outbound.socketRefusalOf({ host, port: 6514, tls: { ca: null, serverName: host } }),
    ),
    ...parsersOfScim(),
    ...(await parsersOfFederation()),
  ] as Parser[]
}

function parsersOfScim() {
  const filter =
    'not (userName sw "a\\"b") and (emails[type eq "work" and primary eq true].value co "@x" or active ne null)'
  const Operations = [
    { op: 'Replace', path: 'emails[type eq "work"].value', value: 'a@b.c' },
    { op: 'add', value: { 'name.givenName': 'a', members: [{ value: 'x' }], active: 'True' } },
    { op: 'remove', path: 'members[value eq "x"]' },
  ]
  const read = (patch: never) => {
    for (const kind of [userKind, groupKind]) for (const { path } of operationsOf(kind, patch)) readPath(kind, path)
  }
  return [
    ofText('parseFilter', filter, parseFilter, app),
    ofText('readPath', 'emails[type eq "work"].value', (text) => readPath(userKind, text), app),
    ofText(
      'readPath of a URN',
      'urn:ietf:params:scim:schemas:core:2.0:User:name.givenName',
      (text) => readPath(userKind, text),
      app,
    ),
    ofJson('operationsOf', { schemas: ['x'], Operations }, read, app),
    ofText(
      'projectionOf',
      'userName,emails.value,meta.location,urn:ietf:params:scim:schemas:core:2.0:User:name',
      (text) =>
        projectionOf(userKind, { attributes: text }).of({ id: 'x', emails: [{ value: 'y' }], meta: { location: 'z' } }),
    ),
  ]
}

async function parsersOfFederation() {
  const response = idp.posted(idp.signed(idp.plainResponse(), 'Assertion'))
  const saml = createSaml({ now: () => now })
  const base64 = idp.key.pem.split('-----')[2]?.replaceAll(/\s/g, '') ?? ''
  const metadata = `<EntityDescriptor entityID="https://idp.example" validUntil="2027-01-01T00:00:00Z" xmlns="urn:oasis:names:tc:SAML:2.0:metadata"><IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>${base64}</X509Certificate></X509Data></KeyInfo></KeyDescriptor><SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/sso"/></IDPSSODescriptor></EntityDescriptor>`
  const dated = Buffer.from(base64, 'base64')
  const answering = (text: string) => ({
    request: async () => ({ status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from(text) }),
  })
  const issuer = 'https://idp.example'
  const document = {
    issuer,
    authorization_endpoint: `${issuer}/a`,
    token_endpoint: `${issuer}/t`,
    jwks_uri: `${issuer}/j`,
    device_authorization_endpoint: `${issuer}/d`,
    end_session_endpoint: `${issuer}/e`,
    id_token_signing_alg_values_supported: ['RS256', 'ES256'],
    claims_supported: ['sub', 'groups'],
  }
  const { privateJwk, publicJwk, kid } = generateKey('ES256')
  const jwks = { keys: [{ ...publicJwk, kid, alg: 'ES256', use: 'sig' }] }
  const signer = softwareSigner('credential', privateJwk)
  const claims = { iss: issuer, aud: 'app', sub: 'x', iat: seconds, exp: seconds + 300, nonce: 'n', groups: ['a'] }
  const source = {
    algorithms: ['ES256'],
    keys: () => readKeys(answering(JSON.stringify(jwks)) as never, `${issuer}/j`),
    renewedKeys: async () => undefined,
    now: () => now,
  }
  const expected = { audiences: ['app'], issuedWithinSeconds: 600, nonce: 'n' }
  const event = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  const idToken = await signJws(signer, 'JWT', claims)
  const { nonce: _, ...said } = claims
  const logoutToken = await signJws(signer, 'logout+jwt', { ...said, jti: 'one', events: event })
  const judgeLogout = (token: string) => verifyLogoutToken({ kind: 'oidc', issuer }, token, expected, source)
  const judge = (token: string) => verifyIdToken({ kind: 'oidc', issuer }, token, expected, source)
  return [
    ofText('readXml', idp.plainResponse(), readXml, federation),
    ofText(
      'a SAML response',
      response,
      (samlResponse) => saml.finish(idp.provider, { samlResponse, requestId: idp.requestId }),
      federation,
    ),
    ofText(
      'a SAML response, its XML',
      idp.signed(idp.plainResponse(), 'Response'),
      (xml) => saml.finish(idp.provider, { samlResponse: idp.posted(xml), requestId: idp.requestId }),
      federation,
    ),
    ofText(
      'readIdpMetadata',
      metadata,
      (xml) => readIdpMetadata(xml, now).certificates.map((c) => c.notAfter.toISOString()),
      federation,
    ),
    ofBytes(
      'readIdpMetadata, its certificate',
      dated,
      (b) =>
        readIdpMetadata(metadata.replace(base64, b.toString('base64')), now).certificates.map((c) =>
          c.notAfter.toISOString(),
        ),
      federation,
    ),
    ofBytes('signingCertificates', dated, (b) => signingCertificates([b.toString('base64')]), federation),
    ...ofJsonText('discover', document, (text) => discover(answering(text) as never, issuer), federation),
    ...ofJsonText('readKeys', jwks, (text) => readKeys(answering(text) as never, `${issuer}/j`), federation),
    ofText('verifyIdToken', idToken, judge, federation),
    ofText('verifyLogoutToken', logoutToken, judgeLogout, federation),
    ofJson('verifyIdToken, its claims', claims, async (v) => judge(await signJws(signer, 'JWT', v)), federation),
  ]
}

export const everyParser = async (): Promise<Parser[]> => [
  ...(await parsersOfCrypto()),
  ...parsersOfPolicy(),
  ...(await parsersOfServer()),
  ...(await parsersOfSdk()),
]
