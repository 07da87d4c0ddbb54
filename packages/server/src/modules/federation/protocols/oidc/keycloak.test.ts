import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRecorded } from '../../../../../test/recorded/keycloak.ts'
import { hasReason } from '../../../../../test/support/providers/federation-errors.ts'
import { minute } from '../../../../kernel/time.ts'
import { FederationError } from '../../enrollment/proven.ts'
import { createOidc } from './oidc.ts'
import type { OidcProvider } from './presets.ts'

const { at, oidc: recorded } = readRecorded()
const provider: OidcProvider = {
  kind: 'keycloak',
  issuer: recorded.issuer,
  clientId: recorded.client_id,
  clientSecret: 'not asked for',
  scopes: [],
  mappedClaims: async () => [],
}
/** Our side, with its clock at this many ms after Keycloak signed; it reads the documents that Keycloak published. */
const startedAfter = (ms: number) =>
  createOidc({
    outbound: {
      request: async (url) => {
        const body = Buffer.from(JSON.stringify(recorded.documents[url]))
        return { status: 200, headers: { 'content-type': 'application/json' }, body }
      },
      refusalOf: () => undefined,
    },
    now: () => new Date(Date.parse(at) + ms),
  })
const expected = { audiences: [recorded.client_id], nonce: recorded.nonce, maxAgeSeconds: 600 }

test('an ID token of Keycloak names the person, and is valid for its time and client only', async () => {
  const proven = await startedAfter(0).verify(provider, recorded.id_token, expected)
  const { preferred_username, email, groups } = proven.claims
  assert.deepEqual(
    { preferred_username, email, groups },
    {
      preferred_username: 'anna',
      email: 'anna@example.com',
      groups: ['/staff/admins'],
    },
  )
  const judge = (token: string, change: Partial<typeof expected> = {}, ms = 0) =>
    startedAfter(ms).verify(provider, token, { ...expected, ...change })
  await assert.rejects(judge(recorded.id_token, {}, 7 * minute), hasReason('time'))
  await assert.rejects(judge(recorded.id_token, { nonce: 'another' }), hasReason('nonce'))
  await assert.rejects(judge(recorded.id_token, { audiences: ['another'] }), hasReason('audience'))
  await assert.rejects(judge(recorded.logout_token), FederationError)
  const [head, , signature] = recorded.id_token.split('.')
  const claims = Buffer.from(JSON.stringify({ ...proven.claims, sub: 'somebody else' })).toString('base64url')
  await assert.rejects(judge(`${head}.${claims}.${signature}`), hasReason('signature'))
})

test('a logout token of Keycloak names the person and the session', async () => {
  const proven = await startedAfter(0).verify(provider, recorded.id_token, expected)
  const { subject, sid } = await startedAfter(0).verifyLogout(provider, recorded.logout_token, recorded.client_id)
  assert.deepEqual([subject, sid], [proven.subject, proven.claims.sid])
  await assert.rejects(startedAfter(0).verifyLogout(provider, recorded.id_token, recorded.client_id), FederationError)
})
