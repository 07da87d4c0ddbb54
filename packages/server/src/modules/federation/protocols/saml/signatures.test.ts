import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainResponse, signed } from '../../../../../test/support/providers/saml-responses.ts'
import { FederationError } from '../../enrollment/proven.ts'
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
test('where a signature stands, what it is over and what it holds is judged before anything is verified', () => {
  assert.equal(judge(good).length, 1)
  assert.equal(judge(signed(good, 'Response'), true).length, 2)
  const cases: readonly (readonly [xml: string, sentence: RegExp, signedResponse?: boolean])[] = [
    [good.replace('<samlp:Status>', '<samlp:Status id="_assertion1">'), /same ID/],
    [plainResponse(), /Nothing in the response is signed/],
    [good, /response itself is not signed/, true],
    [good.replace(/(<ds:Signature .*<\/ds:Signature>)/, '$1$1'), /where none belongs/],
    [good.replace('<ds:KeyInfo>', '<ds:KeyInfo><ds:Signature/>'), /where none belongs/],
    [good.replace('URI="#_assertion1"', 'URI="#_response1"'), /something else/],
    [good.replace('URI="#_assertion1"', 'URI=""'), /something else/],
    [good.replace(/(<ds:Reference.*<\/ds:Reference>)/, '$1$1'), /not of the form/],
    [good.replace('</ds:Signature>', '<ds:Object/></ds:Signature>'), /not of the form/],
    [good.replace('</ds:Signature>', '<x:SignatureValue xmlns:x="u"/></ds:Signature>'), /not of the form/],
    [good.replace('</ds:Signature>', '<ds:SignedInfo/></ds:Signature>'), /not of the form/],
    [
      good.replace(
        /<ds:CanonicalizationMethod([^>]*)\/>/,
        '<ds:CanonicalizationMethod$1><a/></ds:CanonicalizationMethod>',
      ),
      /form of the XML/,
    ],
    [good.replace(/<ds:Transform [^>]*enveloped-signature"\/>/, ''), /form of the XML/],
    [good.replace('#enveloped-signature', '#base64'), /form of the XML/],
  ]
  for (const [xml, sentence, signedResponse] of cases) {
    assert.notEqual(xml === good, signedResponse === undefined)
    const isSaid = (e: unknown) => e instanceof FederationError && sentence.test(e.message)
    assert.throws(() => judge(xml, signedResponse), isSaid, String(sentence))
  }
})
