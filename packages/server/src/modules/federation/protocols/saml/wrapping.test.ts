import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  key,
  now,
  plainResponse,
  posted,
  provider,
  requestId,
  signed,
} from '../../../../../test/support/providers/saml-responses.ts'
import { FederationError } from '../../enrollment/proven.ts'
import { verifyResponse } from './library.ts'
import { createSaml } from './saml.ts'

// XML signature wrapping (Somorovsky et al., "On Breaking SAML", 2012): the signed element is moved to a place that
// nobody reads, and a forged one takes its place. XSW1 and 2 wrap a signed response, XSW3 to 8 a signed assertion.

const saml = createSaml({ now: () => now })
const finish = (xml: string) => saml.finish(provider, { samlResponse: posted(xml), requestId })
const taken = (pattern: RegExp, from: string): string => pattern.exec(from)?.[0] ?? assert.fail(String(pattern))
const signature = /<ds:Signature .*?<\/ds:Signature>/

const byAssertion = signed(plainResponse(), 'Assertion')
const head = taken(/^.*?(?=<saml:Assertion )/, byAssertion)
const original = taken(/<saml:Assertion .*<\/saml:Assertion>/, byAssertion)
const itsSignature = taken(signature, original)
const unsigned = original.replace(itsSignature, '')

const byResponse = signed(plainResponse(), 'Response')
const itsWhole = taken(signature, byResponse)
const unsignedResponse = byResponse.replace(itsWhole, '')

const evil = (xml: string, id: string) =>
  xml.replace('>anna<', '>eve<').replace(/ ID="_(assertion|response)1"/, ` ID="${id}"`)
const response = (...parts: string[]) => `${head}${parts.join('')}</samlp:Response>`
const within = (outer: string, end: string, inner: string) => outer.replace(end, `${inner}${end}`)

/** Documents by the id of the forged element: a new id, or that of the signed element. */
const attacks: Readonly<Record<string, (id: string) => string>> = {
  'XSW1, the response in the signature of a forged one': (id) =>
    within(evil(byResponse, id), '</ds:Signature>', unsignedResponse),
  'XSW2, the response before the signature of a forged one': (id) =>
    evil(byResponse, id).replace(itsWhole, `${unsignedResponse}${itsWhole}`),
  'XSW3, a forged assertion before the signed one': (id) => response(evil(unsigned, id), original),
  'XSW3, a forged assertion behind the signed one': (id) => response(original, evil(unsigned, id)),
  'XSW4, the signed assertion in a forged one': (id) =>
    response(within(evil(unsigned, id), '</saml:Assertion>', original)),
  'XSW5, a forged assertion with the signature, and the original behind it': (id) =>
    response(evil(original, id), unsigned),
  'XSW6, the original in the signature of a forged assertion': (id) =>
    response(within(evil(original, id), '</ds:Signature>', unsigned)),
  'XSW7, a forged assertion among the extensions': (id) =>
    response(`<samlp:Extensions>${evil(unsigned, id)}</samlp:Extensions>`, original),
  'XSW7, the signed assertion among the extensions': (id) =>
    response(`<samlp:Extensions>${original}</samlp:Extensions>`, evil(unsigned, id)),
  'XSW8, the original in an object of the signature': (id) =>
    response(within(evil(original, id), '</ds:Signature>', `<ds:Object>${unsigned}</ds:Object>`)),
}

test('what the attacks are made of is taken as it is', async () => {
  assert.equal((await finish(response(original))).subject, 'anna')
  assert.equal((await finish(byResponse)).subject, 'anna')
})

for (const [name, attack] of Object.entries(attacks))
  test(`refused: ${name}`, async () => {
    for (const id of ['_evil', name.includes('response') ? '_response1' : '_assertion1']) {
      const xml = attack(id)
      assert.ok(xml.includes('>eve<') && xml.includes('<ds:SignatureValue>'))
      await assert.rejects(finish(xml), (e) => e instanceof FederationError && e.reason === 'token')
      // The forged assertion is not accepted even if nothing counts assertions first.
      for (const signedResponse of [false, true]) {
        const expected = { requestId, maxAgeSeconds: undefined, now }
        const found = await verifyResponse(xml, { ...provider, signedResponse }, [key.pem], expected).catch((e) => e)
        assert.ok(found instanceof FederationError || found.subject === 'anna', `${name}: ${String(found)}`)
      }
    }
  })

test('refused: a forged assertion of one name beside none, under a signature that covers something else', async () => {
  const elsewhere = itsSignature.replace('URI="#_assertion1"', 'URI="#_other"')
  const parts = [evil(unsigned, '_evil').replace('</saml:Issuer>', `</saml:Issuer>${elsewhere}`)]
  await assert.rejects(finish(response(...parts)), (e) => e instanceof FederationError && e.reason === 'signature')
  const whole = itsSignature.replace('URI="#_assertion1"', 'URI=""')
  const all = [evil(unsigned, '_evil').replace('</saml:Issuer>', `</saml:Issuer>${whole}`)]
  await assert.rejects(finish(response(...all)), (e) => e instanceof FederationError && e.reason === 'signature')
})
