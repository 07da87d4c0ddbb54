import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainResponse, signed } from '../../../../../test/support/providers/saml-responses.ts'
import { FederationError } from '../proven-identity.ts'
import { onlyChild } from './elements.ts'
import { ns } from './names.ts'
import { judgeSignatures } from './signatures.ts'
import { readXml } from './xml.ts'

const good = signed(plainResponse(), 'Assertion')
const judge = (xml: string, signedResponse = false) => {
  const response = readXml(xml)
  const assertion = onlyChild(response, ns.assertion, 'Assertion') ?? assert.fail()
  return judgeSignatures({ response, assertion }, signedResponse)
}

// The library refuses most of these too. Here each is refused earlier, with its own message.
test('the place, reference and content of a signature are checked before it is verified', () => {
  assert.equal(judge(good).length, 1)
  assert.equal(judge(signed(good, 'Response'), true).length, 2)
  const cases: readonly (readonly [xml: string, sentence: RegExp, signedResponse?: boolean])[] = [
    [good.replace('<samlp:Status>', '<samlp:Status id="_assertion1">'), /same ID/],
    [plainResponse(), /contains no signature/],
    [good, /response itself is not signed/, true],
    [good.replace(/(<ds:Signature .*<\/ds:Signature>)/, '$1$1'), /at an unexpected position/],
    [good.replace('<ds:KeyInfo>', '<ds:KeyInfo><ds:Signature/>'), /at an unexpected position/],
    [good.replace('URI="#_assertion1"', 'URI="#_response1"'), /does not cover its parent element/],
    [good.replace('URI="#_assertion1"', 'URI=""'), /does not cover its parent element/],
    [good.replace(/(<ds:Reference.*<\/ds:Reference>)/, '$1$1'), /not have the form/],
    [good.replace('</ds:Signature>', '<ds:Object/></ds:Signature>'), /not have the form/],
    [good.replace('</ds:Signature>', '<x:SignatureValue xmlns:x="u"/></ds:Signature>'), /not have the form/],
    [good.replace('</ds:Signature>', '<ds:SignedInfo/></ds:Signature>'), /not have the form/],
    [
      good.replace(
        /<ds:CanonicalizationMethod([^>]*)\/>/,
        '<ds:CanonicalizationMethod$1><a/></ds:CanonicalizationMethod>',
      ),
      /canonicalization/,
    ],
    [good.replace(/<ds:Transform [^>]*enveloped-signature"\/>/, ''), /canonicalization/],
    [good.replace('#enveloped-signature', '#base64'), /canonicalization/],
  ]
  for (const [xml, sentence, signedResponse] of cases) {
    assert.notEqual(xml === good, signedResponse === undefined)
    const isSaid = (e: unknown) => e instanceof FederationError && sentence.test(e.message)
    assert.throws(() => judge(xml, signedResponse), isSaid, String(sentence))
  }
})
