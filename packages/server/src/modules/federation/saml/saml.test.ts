import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSaml } from './saml.ts'
import { at, now, plainResponse, posted, provider, requestId, signed } from './test-idp.ts'

const saml = createSaml({ now: () => now })
const finish = (xml: string, change: Partial<typeof provider> = {}) =>
  saml.finish({ ...provider, ...change }, { samlResponse: posted(xml), requestId })

test('a person is proved by a signed assertion, a signed response, and both', async () => {
  const assertionOnly = signed(plainResponse(), 'Assertion')
  const proven = {
    issuer: provider.issuer,
    subject: 'anna',
    claims: { groups: ['staff', 'admins'], mail: 'anna@example.com' },
    assertionId: '_assertion1',
    goodUntil: new Date(at(360)),
  }
  assert.deepEqual(await finish(assertionOnly), proven)
  assert.deepEqual(await finish(signed(plainResponse(), 'Response')), proven)
  assert.deepEqual(await finish(signed(plainResponse(), 'Response'), { signedResponse: true }), proven)
  assert.deepEqual(await finish(signed(assertionOnly, 'Response'), { signedResponse: true }), proven)
})
