import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ecKey, key, now, provider, rsaKey } from '../../../../../test/support/providers/saml-responses.ts'
import { FederationError } from '../../enrollment/proven.ts'
import { childrenOf, elementText, onlyChild } from './elements.ts'
import { ns } from './names.ts'
import { createSaml } from './saml.ts'
import { readXml } from './xml.ts'

const saml = createSaml({ now: () => now })
const other = rsaKey()
const bare = (pem: string) => pem.replace(/-----[A-Z ]+-----|\n/g, '')
const signingKey = (pem: string, use = ' use="signing"') =>
  `<md:KeyDescriptor${use}><ds:KeyInfo><ds:X509Data><ds:X509Certificate>\n${bare(pem)}\n</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`
const service = (binding: string, location: string) =>
  `<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:${binding}" Location="${location}"/>`
const metadata = (inside: string, more = '', validUntil = '2030-01-01T00:00:00Z') =>
  `<?xml version="1.0"?><!-- ours --><md:EntityDescriptor xmlns:md="${ns.metadata}" xmlns:ds="${ns.signature}" entityID="https://idp.example/saml" validUntil="${validUntil}"><md:IDPSSODescriptor protocolSupportEnumeration="urn:x ${ns.protocol}">${inside}</md:IDPSSODescriptor>${more}</md:EntityDescriptor>`
const listOf = (...entities: string[]) =>
  `<md:EntitiesDescriptor xmlns:md="${ns.metadata}">${entities.map((one) => one.slice(one.indexOf('<md:'))).join('')}</md:EntitiesDescriptor>`
const redirect = service('HTTP-Redirect', 'https://idp.example/sso?a=1&amp;b=2')
const reasonOf = (xml: string) => {
  try {
    saml.readMetadata(xml)
  } catch (e) {
    return e instanceof FederationError ? e.reason : String(e)
  }
  return 'taken'
}

test('the metadata of an identity provider say who it is, where to sign in, and with which keys it signs', () => {
  const keys = [key.pem, other.pem, key.pem].map((pem) => signingKey(pem))
  const ignored = [
    signingKey(rsaKey().pem, ' use="encryption"'),
    signingKey(ecKey().pem),
    service('HTTP-POST', 'https://p/'),
  ]
  const found = saml.readMetadata(metadata([...keys, ...ignored, redirect].join('')))
  assert.deepEqual(found, {
    issuer: 'https://idp.example/saml',
    ssoUrl: 'https://idp.example/sso?a=1&b=2',
    certificates: [key, other].map(({ pem }) => ({ pem, notAfter: new Date('2035-01-01T00:00:00Z') })),
    validUntil: new Date('2030-01-01T00:00:00Z'),
  })
  const endless = metadata(keys.join('') + redirect).replace(/ validUntil="[^"]*"/, '')
  assert.equal(saml.readMetadata(endless).validUntil, undefined)
  assert.equal(reasonOf(metadata(signingKey(key.pem, '') + redirect)), 'taken')
})

test('of a list with one identity provider that one is taken; of several their entity ids are named', () => {
  const one = metadata(signingKey(key.pem) + redirect)
  const service = one.replaceAll('IDPSSODescriptor', 'SPSSODescriptor').replace('idp.example', 'sp.example')
  for (const list of [listOf(one), listOf(service, one), listOf(listOf(service), listOf(listOf(one)))])
    assert.equal(saml.readMetadata(list).issuer, 'https://idp.example/saml')
  const ending = listOf(one).replace('<md:EntitiesDescriptor', '$& validUntil="2027-01-01T00:00:00Z"')
  assert.deepEqual(saml.readMetadata(ending).validUntil, new Date('2027-01-01T00:00:00Z'))
  const several = listOf(one, listOf(one.replace('idp.example/saml', 'other.example')))
  assert.throws(
    () => saml.readMetadata(several),
    /2 identity providers \(https:\/\/idp.example\/saml, https:\/\/other.example\)/,
  )
})

test('metadata that do not say it, or say it for several, are refused', () => {
  const keys = signingKey(key.pem)
  const one = metadata(keys + redirect)
  const cases: readonly (readonly [xml: string, reason: string])[] = [
    [metadata(keys), 'discovery'],
    [metadata(keys + service('HTTP-POST', 'https://idp.example/')), 'discovery'],
    [metadata(keys + service('HTTP-Redirect', 'http://idp.example/')), 'discovery'],
    [metadata(keys + service('HTTP-Redirect', 'javascript:alert(1)')), 'discovery'],
    [metadata(keys + service('HTTP-Redirect', 'https://a:b@idp.example/')), 'discovery'],
    [metadata(redirect), 'keys'],
    [metadata(redirect + signingKey(ecKey().pem)), 'keys'],
    [metadata(redirect + signingKey(rsaKey(1024).pem)), 'keys'],
    [metadata(redirect + signingKey('nonsense')), 'keys'],
    [metadata(keys + redirect, '', '2026-11-22T12:00:00Z'), 'discovery'],
    [metadata(keys + redirect, `<md:IDPSSODescriptor protocolSupportEnumeration="${ns.protocol}"/>`), 'discovery'],
    [one.replaceAll('IDPSSODescriptor', 'SPSSODescriptor'), 'discovery'],
    [one.replace(ns.protocol, 'urn:oasis:names:tc:SAML:1.1:protocol'), 'discovery'],
    [one.replace(/ entityID="[^"]*"/, ''), 'discovery'],
    [listOf(), 'discovery'],
    [listOf(one.replaceAll('IDPSSODescriptor', 'SPSSODescriptor')), 'discovery'],
    [listOf(one, one.replace('idp.example/saml', 'other.example')), 'discovery'],
    [listOf(one).replace('<md:EntitiesDescriptor', '$& validUntil="2026-11-22T12:00:00Z"'), 'discovery'],
    [one.replace('<!-- ours -->', '<!DOCTYPE x>'), 'token'],
    [one.replace('https://idp.example/saml', '&e;'), 'token'],
    [one.replace('<!-- ours -->', `<!-- ${'x'.repeat(256 * 1024)} -->`), 'discovery'],
    ['<html></html>', 'discovery'],
    ['', 'token'],
  ]
  for (const [xml, reason] of cases) assert.equal(reasonOf(xml), reason, xml.slice(0, 500))
})

test('our metadata say where to answer and how to name people', () => {
  const odd = { ...provider, entityId: 'https://fleet.example/?a&"<b>', acsUrl: "https://fleet.example/'&acs" }
  const entity = readXml(saml.metadata(odd))
  assert.equal(entity.attributes.get('entityID'), odd.entityId)
  const role = onlyChild(entity, ns.metadata, 'SPSSODescriptor') ?? assert.fail()
  assert.equal(role.attributes.get('WantAssertionsSigned'), 'true')
  assert.deepEqual(
    [entity.attributes.get('validUntil'), entity.attributes.get('cacheDuration')],
    ['2027-11-23T00:00:00.000Z', 'P1D'],
  )
  const [answer] = childrenOf(role, ns.metadata, 'AssertionConsumerService')
  assert.equal(answer?.attributes.get('Location'), odd.acsUrl)
  const format = elementText(onlyChild(role, ns.metadata, 'NameIDFormat'))
  assert.equal(format, 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent')
  assert.equal(saml.metadata(odd), saml.metadata(odd))
})
