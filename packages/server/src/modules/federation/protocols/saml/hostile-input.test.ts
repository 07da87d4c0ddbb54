import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anyText } from '@holdfast/crypto/test/any-text'
import fc from 'fast-check'
import {
  now,
  plainResponse,
  posted,
  provider,
  requestId,
  rsaKey,
  signed,
} from '../../../../../test/support/providers/saml-responses.ts'
import { FederationError } from '../proven-identity.ts'
import { createSaml } from './saml.ts'

const saml = createSaml({ now: () => now })
const finish = (samlResponse: string, change: Partial<typeof provider> = {}) =>
  saml.finish({ ...provider, ...change }, { samlResponse, requestId })
const good = signed(plainResponse(), 'Assertion')
const reasonOf = (answer: Promise<{ subject: string }>) =>
  answer.then(
    ({ subject }) => `taken: ${subject}`,
    (e: unknown) => (e instanceof FederationError ? e.reason : `thrown: ${String(e)}`),
  )

test('a response that is no base64 of UTF-8 is refused', async () => {
  const bytes = (...octets: number[]) => Buffer.from(octets).toString('base64')
  for (const text of [
    '',
    ' ',
    '=',
    'a',
    'ab=c',
    '<a/>',
    '%3Ca',
    `${posted(good)}!`,
    'YQ',
    bytes(0xff, 0xfe),
    bytes(0xc0, 0xaf),
  ])
    assert.equal(await reasonOf(finish(text)), 'token', text)
  const lines = posted(good).replace(/.{76}/g, '$&\r\n')
  assert.equal(await reasonOf(finish(lines)), 'taken: anna')
})

test('oversized input is refused cheaply', async () => {
  const inside = (more: string) => posted(good.replace('</samlp:Response>', `${more}</samlp:Response>`))
  const bombs: Record<string, () => string> = {
    '10 MB': () => 'A'.repeat(10 * 1024 * 1024),
    'one more than 256 KiB': () => 'A'.repeat(256 * 1024 + 1),
    depth: () => inside('<a>'.repeat(20_000)),
    'depth that ends': () => inside('<a>'.repeat(10_000) + '</a>'.repeat(10_000)),
    elements: () => inside('<a/>'.repeat(30_000)),
    comments: () => inside('<!---->'.repeat(20_000)),
    attributes: () => inside(`<a ${Array.from({ length: 10_000 }, (_, i) => `a${i}=""`).join(' ')}/>`),
    'entities in entities': () => posted(`<!DOCTYPE l [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;">]>${good}`),
  }
  for (const [name, bomb] of Object.entries(bombs)) {
    const text = bomb()
    const before = process.cpuUsage()
    assert.equal(await reasonOf(finish(text)), 'token', name)
    const { user, system } = process.cpuUsage(before)
    assert.ok(user + system < 1_000_000, `${name} took ${user + system} µs`)
  }
})

test('a signature by another key is refused cheaply', async () => {
  const much = plainResponse().replace('</saml:AttributeStatement>', `${'<a/>'.repeat(3500)}</saml:AttributeStatement>`)
  const stranger = rsaKey()
  const xml = posted(signed(signed(much, 'Assertion', { key: stranger }), 'Response', { key: stranger }))
  const certificates = [rsaKey().pem, rsaKey().pem]
  const before = process.cpuUsage()
  assert.equal(await reasonOf(finish(xml, { certificates })), 'signature')
  const { user, system } = process.cpuUsage(before)
  // Four certificates would take most of a second each if every one was tried on every byte.
  assert.ok(user + system < 1_000_000, `${user + system} µs`)
})

test('any text, and any change of a good response, is refused or proves the same person', async () => {
  const any = anyText()
  const change = fc.record({
    at: fc.nat(good.length),
    length: fc.oneof(fc.nat(3), fc.nat(400)),
    text: fc.oneof(
      fc.string({ maxLength: 5 }),
      fc.constantFrom('<', '</', '&amp;', '<!-- -->', '">', ' ID="_assertion1"', '<a/>'),
    ),
  })
  const changed = fc
    .array(change, { minLength: 1, maxLength: 2 })
    .map((changes) =>
      changes.reduce((xml, { at, length, text }) => xml.slice(0, at) + text + xml.slice(at + length), good),
    )
  const posts = fc.oneof(
    { weight: 1, arbitrary: any },
    { weight: 1, arbitrary: any.map(posted) },
    { weight: 6, arbitrary: changed.map(posted) },
  )
  await fc.assert(
    fc.asyncProperty(posts, fc.boolean(), async (text, signedResponse) => {
      const found = await reasonOf(finish(text, { signedResponse }))
      assert.match(found, signedResponse ? /^[a-z]+$/ : /^([a-z]+|taken: anna)$/)
    }),
    { numRuns: 120 },
  )
})

test('attributes are read as texts and lists of texts by name', async () => {
  const attribute = (name: string, ...values: string[]) =>
    `<saml:Attribute Name="${name}">${values.map((value) => `<saml:AttributeValue>${value}</saml:AttributeValue>`).join('')}</saml:Attribute>`
  const statement = [
    attribute('one', 'x'),
    attribute('two', 'x', 'y'),
    attribute('two', 'z'),
    attribute('none'),
    attribute('element', '<a/>', 'beside'),
    attribute('', 'x'),
    ...['__proto__', 'constructor', 'toString', 'hasOwnProperty'].map((name) => attribute(name, 'evil', 'evil')),
    ...['issuer', 'nameID', 'getAssertionXml', 'mail'].map((name) => attribute(name, 'evil')),
  ].join('')
  const xml = plainResponse().replace(/<saml:AttributeStatement>.*<\/saml:AttributeStatement>/, () => {
    return `<saml:AttributeStatement>${statement}</saml:AttributeStatement><saml:AttributeStatement>${attribute('one', 'w')}</saml:AttributeStatement>`
  })
  const { claims, subject } = await finish(posted(signed(xml, 'Assertion')))
  assert.deepEqual(claims, {
    one: ['x', 'w'],
    two: ['x', 'y', 'z'],
    element: 'beside',
    issuer: 'evil',
    nameID: 'evil',
    getAssertionXml: 'evil',
    mail: 'evil',
  })
  assert.equal(subject, 'anna')
  assert.deepEqual([Object.getPrototypeOf({}), Object.getPrototypeOf(claims)], [Object.prototype, Object.prototype])
})
