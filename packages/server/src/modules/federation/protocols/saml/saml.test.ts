import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { inflateRawSync } from 'node:zlib'
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
import { elementText, onlyChild } from './elements.ts'
import { ns } from './names.ts'
import { createSaml } from './saml.ts'
import { readXml } from './xml.ts'

const saml = createSaml({ now: () => now })
const finish = (xml: string, change: Partial<typeof provider> = {}) =>
  saml.finish({ ...provider, ...change }, { samlResponse: posted(xml), requestId })
const isRefused = (reason: FederationError['reason']) => (e: unknown) => {
  assert.ok(e instanceof FederationError, String(e))
  return e.reason === reason || assert.equal(`${e.reason}: ${e.message}`, reason)
}

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
  assert.deepEqual(await finish(`\ufeff<?xml version="1.0" encoding="UTF-8"?>\n${assertionOnly}`), proven)
})

test('it is the same with prefixes, white space and declarations as other providers write them', async () => {
  const bare = plainResponse().replaceAll('saml:', '').replace(' xmlns:saml=', ' xmlns:unused=')
  const ofEntra = bare.replace('<Assertion', `<Assertion xmlns="${ns.assertion}"`)
  const withIssuer = ofEntra.replace('<Issuer', `<Issuer xmlns="${ns.assertion}"`)
  assert.equal((await finish(signed(withIssuer, 'Assertion', { prefix: '' }))).subject, 'anna')
  const types = 'xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
  const ofOkta = plainResponse()
    .replace('<samlp:Response', `<samlp:Response ${types}`)
    .replaceAll('<saml:AttributeValue>', '<saml:AttributeValue xsi:type="xs:string">')
  const listed = signed(ofOkta, 'Assertion', { inclusive: 'xs' })
  assert.match(listed, /<InclusiveNamespaces PrefixList="xs"/)
  assert.deepEqual((await finish(signed(listed, 'Response', { inclusive: 'xs' }))).claims, {
    groups: ['staff', 'admins'],
    mail: 'anna@example.com',
  })
  const spread = plainResponse().replace(/></g, '>\r\n  <')
  assert.equal((await finish(signed(spread, 'Response').replaceAll('\r\n', '\n'))).subject, 'anna')
})

test('RSA with SHA-512 and RSA-PSS are taken, and every key of a provider that changes it', async () => {
  const old = rsaKey()
  const certificates = [old.pem, key.pem.replace(/-----[A-Z ]+-----|\n/g, '')]
  const algorithms = [
    'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
    'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
  ]
  for (const algorithm of algorithms)
    for (const by of [old, key]) {
      const digest = 'http://www.w3.org/2001/04/xmlenc#sha512'
      const xml = signed(plainResponse(), 'Assertion', { key: by, algorithm, digest })
      assert.equal((await finish(xml, { certificates })).subject, 'anna')
    }
})

test('the request goes out by redirect, says who asks, and is recognised by its id', async () => {
  const { url, requestId: id } = await saml.begin(provider, { relayState: 'a&b=c' })
  const sent = new URL(url)
  assert.equal(`${sent.origin}${sent.pathname}`, 'https://idp.example/sso')
  assert.deepEqual([...sent.searchParams.keys()], ['tenant', 'SAMLRequest', 'RelayState'])
  assert.equal(sent.searchParams.get('RelayState'), 'a&b=c')
  const request = readXml(inflateRawSync(Buffer.from(sent.searchParams.get('SAMLRequest') ?? '', 'base64')).toString())
  assert.deepEqual([request.namespace, request.name], [ns.protocol, 'AuthnRequest'])
  assert.match(id, /^_[0-9a-f]{40}$/)
  assert.equal(elementText(onlyChild(request, ns.assertion, 'Issuer')), provider.entityId)
  const policy = onlyChild(request, ns.protocol, 'NameIDPolicy')?.attributes.get('Format')
  assert.equal(policy, 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent')
  assert.deepEqual(Object.fromEntries(request.attributes), {
    ID: id,
    Version: '2.0',
    IssueInstant: at(0),
    ProtocolBinding: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
    Destination: provider.ssoUrl,
    AssertionConsumerServiceURL: provider.acsUrl,
  })
  const another = await saml.begin(provider, { relayState: 'x' })
  assert.notEqual(another.requestId, id)
  await assert.rejects(
    saml.begin({ ...provider, ssoUrl: 'http://idp.example/' }, { relayState: 'x' }),
    isRefused('discovery'),
  )
})

test('a fresh sign-in is asked for, and an old one then refused', async () => {
  const { url } = await saml.begin(provider, { relayState: 'x', maxAgeSeconds: 60 })
  const request = Buffer.from(new URL(url).searchParams.get('SAMLRequest') ?? '', 'base64')
  assert.equal(readXml(inflateRawSync(request).toString()).attributes.get('ForceAuthn'), 'true')
  const signedIn = (seconds: number) => {
    const xml = plainResponse().replace(`AuthnInstant="${at(-10)}"`, `AuthnInstant="${at(seconds)}"`)
    return { samlResponse: posted(signed(xml, 'Assertion')), requestId }
  }
  const anHour = 3600
  assert.equal((await saml.finish(provider, signedIn(-anHour))).subject, 'anna')
  assert.equal((await saml.finish(provider, { ...signedIn(-119), maxAgeSeconds: 60 })).subject, 'anna')
  await assert.rejects(saml.finish(provider, { ...signedIn(-121), maxAgeSeconds: 60 }), isRefused('time'))
})

test('nothing but signing in is offered: no logout, by redirect or else', () => {
  assert.deepEqual(Object.keys(saml).sort(), ['begin', 'finish', 'metadata', 'readMetadata'])
})

test('the same response brought twice at once is known by the id of its assertion', async () => {
  const xml = signed(plainResponse(), 'Assertion')
  const [one, other] = await Promise.all([finish(xml), finish(xml)])
  assert.equal(one.assertionId, other.assertionId)
  // The assertion is remembered until `goodUntil`. From then on it is refused for its age.
  const later = createSaml({ now: () => one.goodUntil })
  await assert.rejects(later.finish(provider, { samlResponse: posted(xml), requestId }), isRefused('time'))
})

test('keys that cannot verify are named as such', async () => {
  const xml = signed(plainResponse(), 'Assertion')
  for (const certificates of [[], ['nonsense'], [ecKey().pem], [key.pem, rsaKey(1024).pem], Array(11).fill(key.pem)])
    await assert.rejects(finish(xml, { certificates }), isRefused('keys'))
})

test('the libraries that read signatures are those with their faults mended', () => {
  const lock = JSON.parse(readFileSync(new URL('../../../../../../../package-lock.json', import.meta.url), 'utf8')) as {
    packages: Record<string, { version: string }>
  }
  const versions = (name: string) =>
    Object.entries(lock.packages).flatMap(([path, { version }]) =>
      path.endsWith(`node_modules/${name}`) ? version : [],
    )
  assert.deepEqual(versions('@node-saml/node-saml'), ['5.1.0'])
  for (const [name, [major, minor, patch]] of [
    ['xml-crypto', [6, 0, 1]],
    ['@xmldom/xmldom', [0, 8, 13]],
  ] as const)
    for (const version of versions(name)) {
      const [a = 0, b = 0, c = 0] = version.split('.').map(Number)
      assert.ok(a > major || (a === major && (b > minor || (b === minor && c >= patch))), `${name} ${version}`)
    }
})
