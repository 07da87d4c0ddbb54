import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  at,
  ecKey,
  key,
  now,
  plainResponse,
  posted,
  provider,
  requestId,
  rsaKey,
  signed,
} from '../../../../../test/support/providers/saml-responses.ts'
import { FederationError } from '../../enrollment/proven.ts'
import type { SamlProvider } from './provider.ts'
import { createSaml } from './saml.ts'

type Reason = FederationError['reason']
const saml = createSaml({ now: () => now })
const finish = (xml: string, change: Partial<SamlProvider> = {}) =>
  saml.finish({ ...provider, ...change }, { samlResponse: posted(xml), requestId })
const reasonOf = (answer: Promise<unknown>) =>
  answer.then(
    () => 'taken',
    (e: unknown) => (e instanceof FederationError ? e.reason : String(e)),
  )
/** Returns the response with a part replaced; the part must exist. */
const changed = (from: string | RegExp, to: string): string => {
  const xml = plainResponse()
  assert.notEqual(xml.replace(from, to), xml, String(from))
  return xml.replace(from, to)
}
const [, assertionOf = ''] = /(<saml:Assertion .*<\/saml:Assertion>)/.exec(plainResponse()) ?? []
const inAssertion = (from: string | RegExp, to: string): string => {
  const other = assertionOf.replace(from, to)
  assert.notEqual(other, assertionOf, String(from))
  return plainResponse().replace(assertionOf, other)
}

/** Responses with a wrong statement. The provider itself signed each assertion. */
const wronglySaid: readonly (readonly [what: string, xml: string, reason: Reason])[] = [
  [
    'a response for another address',
    changed(/Destination="[^"]*"/, 'Destination="https://evil.example/"'),
    'destination',
  ],
  ['a recipient at another address', changed(/Recipient="[^"]*"/, 'Recipient="https://evil.example/"'), 'destination'],
  ['no recipient', changed(/ Recipient="[^"]*"/, ''), 'destination'],
  [
    'an audience that is not us',
    changed(`<saml:Audience>${provider.entityId}`, '<saml:Audience>https://a.example'),
    'audience',
  ],
  ['no audience', changed(/<saml:AudienceRestriction>.*<\/saml:AudienceRestriction>/, ''), 'audience'],
  [
    'a second restriction to somebody else',
    changed(
      '</saml:AudienceRestriction>',
      '</saml:AudienceRestriction><saml:AudienceRestriction><saml:Audience>b</saml:Audience></saml:AudienceRestriction>',
    ),
    'audience',
  ],
  ['no conditions', changed(/<saml:Conditions.*<\/saml:Conditions>/, ''), 'token'],
  ['a condition that nobody knows', changed('</saml:Conditions>', '<saml:Condition/></saml:Conditions>'), 'token'],
  ['a response of another issuer', changed(provider.issuer, 'https://other.example'), 'issuer'],
  ['an assertion of another issuer', inAssertion(provider.issuer, 'https://other.example'), 'issuer'],
  ['an assertion of nobody', inAssertion(`<saml:Issuer>${provider.issuer}</saml:Issuer>`, '<saml:Issuer/>'), 'issuer'],
  ['an issuer of another format', inAssertion('<saml:Issuer>', '<saml:Issuer Format="urn:x">'), 'issuer'],
  ['two issuers of a response', changed('<samlp:Status>', '<saml:Issuer>x</saml:Issuer><samlp:Status>'), 'issuer'],
  ['a response to no request', changed(` InResponseTo="${requestId}"`, ''), 'state'],
  ['a response to another request', changed(`InResponseTo="${requestId}"`, 'InResponseTo="_other"'), 'state'],
  ['an assertion for another request', inAssertion(`InResponseTo="${requestId}"`, 'InResponseTo="_other"'), 'state'],
  ['an assertion for no request', inAssertion(` InResponseTo="${requestId}"`, ''), 'state'],
  ['a status that is not success', changed('status:Success', 'status:Responder'), 'denied'],
  ['no status', changed(/<samlp:Status>.*<\/samlp:Status>/, ''), 'denied'],
  [
    'a success within a failure',
    changed(
      'status:Success"/>',
      'status:Requester"><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:StatusCode>',
    ),
    'denied',
  ],
  [
    'a confirmation that has ended',
    changed(
      `<saml:SubjectConfirmationData NotOnOrAfter="${at(300)}"`,
      `<saml:SubjectConfirmationData NotOnOrAfter="${at(-60)}"`,
    ),
    'time',
  ],
  ['a confirmation without an end', changed(` NotOnOrAfter="${at(300)}" Recipient`, ' Recipient'), 'time'],
  [
    'a confirmation to come',
    changed('<saml:SubjectConfirmationData', `<saml:SubjectConfirmationData NotBefore="${at(61)}"`),
    'time',
  ],
  [
    'conditions that have ended',
    changed(`NotBefore="${at(-60)}" NotOnOrAfter="${at(300)}"`, `NotOnOrAfter="${at(-60)}"`),
    'time',
  ],
  ['conditions to come', changed(`NotBefore="${at(-60)}"`, `NotBefore="${at(61)}"`), 'time'],
  ['a time that is none', changed(`NotBefore="${at(-60)}"`, 'NotBefore="yesterday"'), 'time'],
  ['an assertion that is too old', inAssertion(`IssueInstant="${at(0)}"`, `IssueInstant="${at(-360)}"`), 'time'],
  ['an assertion from the future', inAssertion(`IssueInstant="${at(0)}"`, `IssueInstant="${at(61)}"`), 'time'],
  ['a response that is too old', changed(`IssueInstant="${at(0)}"`, `IssueInstant="${at(-360)}"`), 'time'],
  ['a response from the future', changed(`IssueInstant="${at(0)}"`, `IssueInstant="${at(61)}"`), 'time'],
  ['a response of no time', changed(` IssueInstant="${at(0)}"`, ''), 'time'],
  ['a sign-in to come', changed(`AuthnInstant="${at(-10)}"`, `AuthnInstant="${at(61)}"`), 'time'],
  [
    'a session that has ended',
    changed('<saml:AuthnStatement', `<saml:AuthnStatement SessionNotOnOrAfter="${at(-60)}"`),
    'time',
  ],
  ['no sign-in', changed(/<saml:AuthnStatement.*<\/saml:AuthnStatement>/, ''), 'token'],
  ['another way than by its bearer', changed('cm:bearer', 'cm:sender-vouches'), 'subject'],
  ['no confirmation', changed(/<saml:SubjectConfirmation .*<\/saml:SubjectConfirmation>/, ''), 'subject'],
  ['a name for this time only', changed('nameid-format:persistent', 'nameid-format:transient'), 'subject'],
  [
    'an e-mail address as the name',
    changed('2.0:nameid-format:persistent', '1.1:nameid-format:emailAddress'),
    'subject',
  ],
  ['a name without its format', changed(/ Format="[^"]*"/, ''), 'subject'],
  [
    'a name of another provider',
    changed('<saml:NameID', '<saml:NameID NameQualifier="https://other.example"'),
    'subject',
  ],
  [
    'a name for another application',
    changed('<saml:NameID', '<saml:NameID SPNameQualifier="https://other.example"'),
    'subject',
  ],
  ['no name', changed(/<saml:NameID.*<\/saml:NameID>/, ''), 'subject'],
  ['an empty name', changed('>anna<', '><'), 'subject'],
  ['a name with space around it', changed('>anna<', '>anna&#10;<'), 'subject'],
  ['a name with a space before it', changed('>anna<', '> anna<'), 'subject'],
  ['a name with what cannot be seen', changed('>anna<', '>an\u200bna<'), 'subject'],
  ['a name that is too long', changed('>anna<', `>${'a'.repeat(256)}<`), 'subject'],
  ['an element in the name', changed('>anna<', '>an<b/>na<'), 'subject'],
  ['two names', changed('</saml:NameID>', '</saml:NameID><saml:NameID>eve</saml:NameID>'), 'subject'],
  ['an encrypted name', changed(/<saml:NameID.*<\/saml:NameID>/, '<saml:EncryptedID/>'), 'subject'],
  [
    'more attributes than anybody has',
    changed(
      '</saml:AttributeStatement>',
      `${Array.from({ length: 201 }, (_, i) => `<saml:Attribute Name="a${i}"><saml:AttributeValue>x</saml:AttributeValue></saml:Attribute>`).join('')}</saml:AttributeStatement>`,
    ),
    'token',
  ],
  ['a value that is too long', changed('>staff<', `>${'x'.repeat(8193)}<`), 'token'],
  ['another version of SAML', inAssertion('Version="2.0"', 'Version="1.1"'), 'token'],
]
for (const [what, xml, reason] of wronglySaid)
  test(`refused though signed: ${what}`, async () => {
    assert.equal(await reasonOf(finish(signed(xml, 'Assertion'))), reason)
    const both = signed(xml, 'Response')
    assert.equal(await reasonOf(finish(both, { signedResponse: true })), reason)
  })

/** Responses with right statements and a wrong signature. */
const rsa = (name: string) => `http://www.w3.org/2000/09/xmldsig#${name}`
const good = signed(plainResponse(), 'Assertion')
const stranger = rsaKey()
const wronglySigned: readonly (readonly [what: string, xml: string, reason: Reason, change?: Partial<SamlProvider>])[] =
  [
    ['nothing', plainResponse(), 'signature'],
    [
      'by another key, which its own certificate comes with',
      signed(plainResponse(), 'Assertion', { key: stranger }),
      'signature',
    ],
    [
      'by another key, with the certificate of the right one',
      signed(plainResponse(), 'Assertion', { key: stranger, keyInfo: key.pem }),
      'signature',
    ],
    ['with SHA-1', signed(plainResponse(), 'Assertion', { algorithm: rsa('rsa-sha1') }), 'algorithm'],
    ['over a digest by SHA-1', signed(plainResponse(), 'Assertion', { digest: rsa('sha1') }), 'algorithm'],
    [
      'over a form with comments',
      signed(plainResponse(), 'Assertion', {
        transforms: [rsa('enveloped-signature'), 'http://www.w3.org/2001/10/xml-exc-c14n#WithComments'],
      }),
      'algorithm',
    ],
    ['the assertion only, where the response must be', good, 'signature', { signedResponse: true }],
    ['the response by another key than its assertion', signed(good, 'Response', { key: stranger }), 'signature'],
    ['another name than the one that is there', good.replace('>anna<', '>eve<'), 'signature'],
    [
      'an assertion with one attribute less',
      good.replace('<saml:AttributeValue>admins</saml:AttributeValue>', ''),
      'signature',
    ],
    [
      'a response with another status',
      signed(plainResponse(), 'Response').replace('ID="_response1"', 'Consent="x" ID="_response1"'),
      'signature',
    ],
    ['a response with no address', signed(changed(/ Destination="[^"]*"/, ''), 'Response'), 'destination'],
    ['with a good signature that is cut off', good.replace(/(<ds:SignatureValue>)[^<]*/, '$1'), 'signature'],
    ['with ECDSA', good.replace('#rsa-sha256', '#ecdsa-sha256'), 'algorithm'],
    ['with a key made of the certificate (HMAC)', good.replace(/http:\S*#rsa-sha256/, rsa('hmac-sha1')), 'algorithm'],
  ]
for (const [what, xml, reason, change] of wronglySigned)
  test(`refused for what is signed: ${what}`, async () => assert.equal(await reasonOf(finish(xml, change)), reason))

test('a provider with a key of ECDSA is told so before anything else is', async () => {
  const error = await finish(good.replace('#rsa-sha256', '#ecdsa-sha256'), { certificates: [ecKey().pem] }).catch(
    String,
  )
  assert.match(String(error), /ECDSA, which is not supported/)
})

/** Documents that differ from what they seem to be. Their signature is valid. */
const encrypted = plainResponse().replace(assertionOf, '<saml:EncryptedAssertion/>')
const notPlain: readonly (readonly [what: string, xml: string, reason: Reason])[] = [
  ['a document type', `<!DOCTYPE x>${good}`, 'token'],
  ['an entity of its own', `<!DOCTYPE x [<!ENTITY e "eve">]>${good.replace('>anna<', '>&e;<')}`, 'token'],
  ['an entity that nobody declared', good.replace('>anna<', '>&eve;<'), 'token'],
  ['a processing instruction', `<?xml-stylesheet href="x"?>${good}`, 'token'],
  ['a processing instruction in the name', good.replace('>anna<', '>an<?x y?>na<'), 'token'],
  ['CDATA', good.replace('>anna<', '><![CDATA[anna]]><'), 'token'],
  ['two documents', `${good}${good}`, 'token'],
  ['text behind the end', `${good}x`, 'token'],
  ['a second assertion', good.replace('</samlp:Response>', `${assertionOf}</samlp:Response>`), 'token'],
  ['a second assertion of no namespace', good.replace('</samlp:Response>', '<Assertion/></samlp:Response>'), 'token'],
  ['an encrypted assertion', encrypted, 'encrypted'],
  [
    'an encrypted assertion beside the signed one',
    good.replace('</samlp:Response>', '<saml:EncryptedAssertion/></samlp:Response>'),
    'encrypted',
  ],
  ['an encrypted assertion in a signed response', signed(encrypted, 'Response'), 'encrypted'],
  ['an ID that is there twice', good.replace('<samlp:Status>', '<samlp:Status ID="_assertion1">'), 'signature'],
  [
    'an Id that is there twice, in other letters',
    good.replace('<samlp:Status>', '<samlp:Status Id="_assertion1">'),
    'signature',
  ],
  ['two signatures', good.replace(/(<ds:Signature .*<\/ds:Signature>)/, '$1$1'), 'signature'],
  [
    'a signature where none belongs',
    good.replace('<samlp:Status>', '<samlp:Status><ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"/>'),
    'signature',
  ],
  [
    'a second method in the signature',
    good.replace(
      '<ds:SignedInfo>',
      `<ds:KeyInfo><ds:SignatureMethod Algorithm="${rsa('rsa-sha1')}"/></ds:KeyInfo><ds:SignedInfo>`,
    ),
    'signature',
  ],
  [
    'no response at all',
    assertionOf.replace('<saml:Assertion', '<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"'),
    'token',
  ],
  [
    'a response of another namespace',
    good.replace('xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol"', 'xmlns:samlp="urn:other"'),
    'token',
  ],
  ['a logout', good.replaceAll('samlp:Response', 'samlp:LogoutResponse'), 'token'],
]
for (const [what, xml, reason] of notPlain)
  test(`refused for its form: ${what}`, async () => assert.equal(await reasonOf(finish(xml)), reason))

test('a comment in the name neither shortens nor hides any of it', async () => {
  const commented = signed(changed('>anna<', '>anna<!-- -->.evil<'), 'Assertion')
  assert.equal((await finish(commented)).subject, 'anna.evil')
  assert.equal((await finish(good.replace('>anna<', '>an<!-- x -->na<'))).subject, 'anna')
})

test('one confirmation for us is enough, and its address may stand beside that of others', async () => {
  const other = `<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData NotOnOrAfter="${at(300)}" Recipient="https://other.example/"/></saml:SubjectConfirmation>`
  const xml = signed(changed('<saml:SubjectConfirmation ', `${other}<saml:SubjectConfirmation `), 'Assertion')
  assert.equal((await finish(xml)).subject, 'anna')
})

test('a name of no particular format is taken where the provider is said to have such', async () => {
  const unspecified = { nameIdFormat: 'unspecified' } as const
  assert.equal((await finish(signed(changed(/ Format="[^"]*"/, ''), 'Assertion'), unspecified)).subject, 'anna')
  assert.equal(await reasonOf(finish(good, unspecified)), 'subject')
})
