import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FederationError } from '../../src/modules/federation/enrollment/proven.ts'
import { createSaml } from '../../src/modules/federation/protocols/saml/saml.ts'
import { posted, provider, rsaKey } from '../support/providers/saml-responses.ts'
import { askPython, without } from './tools.ts'

const skip = without('python3-pysaml2') || without('xmlsec1')

const ways = ['assertion', 'response', 'both', 'sha512', 'sha1', 'nothing', 'failure'] as const
type Way = (typeof ways)[number]
type Answered = {
  metadata: string
  answers: { request_id: string; asked_by: string; target: string; responses: Record<Way, string> }[]
}

test('pysaml2 reads our metadata and request, and proves a person to us by its own metadata and responses', {
  skip,
}, async () => {
  const saml = createSaml({ now: () => new Date() })
  const key = rsaKey()
  const begun = { ...provider, certificates: [key.pem] }
  const { url, requestId } = await saml.begin(begun, { relayState: 'x' })
  const { metadata, answers } = await askPython<Answered>('python3-pysaml2', 'answer_saml.py', {
    issuer: provider.issuer,
    sso_url: provider.ssoUrl,
    key: key.privateKey.export({ format: 'pem', type: 'pkcs8' }),
    certificate: key.pem,
    sp_metadata: saml.metadata(begun),
    requests: [{ request: new URL(url).searchParams.get('SAMLRequest'), ways }],
  })
  const [answer] = answers
  assert.deepEqual(
    [answer?.request_id, answer?.asked_by, answer?.target],
    [requestId, provider.entityId, provider.acsUrl],
  )
  const { issuer, ssoUrl, certificates } = saml.readMetadata(metadata)
  assert.deepEqual({ issuer, ssoUrl }, { issuer: provider.issuer, ssoUrl: provider.ssoUrl })
  const known = { ...provider, issuer, ssoUrl, certificates: certificates.map(({ pem }) => pem) }

  const finish = (name: Way, signedResponse: boolean) =>
    saml
      .finish({ ...known, signedResponse }, { samlResponse: posted(String(answer?.responses[name])), requestId })
      .then(
        ({ subject, claims }) => ({ subject, claims }),
        (e: unknown) => (e instanceof FederationError ? e.reason : String(e)),
      )
  const zoe = {
    subject: 'zoe-1',
    claims: { 'urn:oid:1.3.6.1.4.1.5923.1.1.1.1': ['staff', 'admins'], 'urn:oid:2.16.840.1.113730.3.1.241': 'Zoë <&>' },
  }
  for (const name of ['assertion', 'response', 'both', 'sha512'] as const)
    assert.deepEqual(await finish(name, false), zoe, name)
  for (const name of ['response', 'both', 'sha512'] as const) assert.deepEqual(await finish(name, true), zoe, name)
  assert.equal(await finish('assertion', true), 'signature')
  assert.equal(await finish('nothing', false), 'signature')
  assert.equal(await finish('sha1', false), 'algorithm')
  assert.equal(await finish('failure', false), 'denied')
})
