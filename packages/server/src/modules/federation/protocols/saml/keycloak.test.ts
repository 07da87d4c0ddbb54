import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRecorded } from '../../../../../test/recorded/keycloak.ts'
import { hasReason } from '../../../../../test/support/providers/federation-errors.ts'
import { minute } from '../../../../kernel/time.ts'
import { FederationError } from '../../enrollment/proven.ts'
import { createSaml } from './saml.ts'

const { at, saml: recorded } = readRecorded()
/** Our side, with its clock at this many ms after Keycloak signed. */
const startedAfter = (ms: number) => createSaml({ now: () => new Date(Date.parse(at) + ms) })
const { issuer, ssoUrl, certificates } = startedAfter(0).readMetadata(recorded.metadata)
const provider = {
  issuer,
  ssoUrl,
  certificates: certificates.map(({ pem }) => pem),
  entityId: recorded.entity_id,
  acsUrl: recorded.acs_url,
  signedResponse: true,
}

test('a response of Keycloak proves its person in answer to one request', async () => {
  const judge = (change: Partial<typeof provider> = {}, samlResponse = recorded.response, ms = 0) =>
    startedAfter(ms).finish({ ...provider, ...change }, { samlResponse, requestId: recorded.request_id })
  const proven = await judge()
  assert.equal(proven.issuer, issuer)
  assert.deepEqual(proven.claims, { username: 'anna', email: 'anna@example.com', groups: '/staff/admins' })

  await assert.rejects(judge({}, recorded.response, 7 * minute), hasReason('time'))
  await assert.rejects(judge({ entityId: 'https://another.example/saml' }), hasReason('audience'))
  await assert.rejects(judge({ issuer: 'https://another.example' }), hasReason('issuer'))
  const other = { samlResponse: recorded.response, requestId: `_${'0'.repeat(40)}` }
  await assert.rejects(startedAfter(0).finish(provider, other), FederationError)
  const xml = Buffer.from(recorded.response, 'base64').toString()
  const changed = Buffer.from(xml.replace('>anna<', '>ben<')).toString('base64')
  await assert.rejects(judge({}, changed), hasReason('signature'))
})
