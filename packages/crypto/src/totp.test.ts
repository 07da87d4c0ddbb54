import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type TOTP, URI } from 'otpauth'
import { anyText } from '../test/support/any-text.ts'
import { matchTotp, mintTotpSeed, provisioningUri, toBase32, totpCode, totpStep } from './totp.ts'

const rfcSeed = Buffer.from('12345678901234567890')

test('codes match RFC 6238 appendix B (SHA-1, last six digits)', () => {
  const vectors = [
    [59, '94287082'],
    [1_111_111_109, '07081804'],
    [1_111_111_111, '14050471'],
    [1_234_567_890, '89005924'],
    [2_000_000_000, '69279037'],
    [20_000_000_000, '65353130'],
  ] as const
  for (const [seconds, code] of vectors) {
    const at = new Date(seconds * 1000)
    assert.equal(totpCode(rfcSeed, totpStep(at)), code.slice(2))
    assert.equal(matchTotp(rfcSeed, code.slice(2), at), totpStep(at))
  }
})

test('codes match RFC 4226 appendix D', () => {
  const codes = ['755224', '287082', '359152', '969429', '338314', '254676', '287922', '162583', '399871', '520489']
  assert.deepEqual(
    codes.map((_, step) => totpCode(rfcSeed, step)),
    codes,
  )
})

test('base32 matches RFC 4648 section 10', () => {
  const vectors = {
    '': '',
    f: 'MY',
    fo: 'MZXQ',
    foo: 'MZXW6',
    foob: 'MZXW6YQ',
    fooba: 'MZXW6YTB',
    foobar: 'MZXW6YTBOI',
  }
  for (const [text, encoded] of Object.entries(vectors)) assert.equal(toBase32(Buffer.from(text)), encoded)
})

test('a code is valid in its period and the two neighbouring ones only', () => {
  const seed = mintTotpSeed()
  const at = new Date('2026-03-01T12:00:10Z')
  const step = totpStep(at)
  for (const offset of [-1, 0, 1]) assert.equal(matchTotp(seed, totpCode(seed, step + offset), at), step + offset)
  const near = [-1, 0, 1].map((offset) => totpCode(seed, step + offset))
  for (const offset of [-3, -2, 2, 3]) {
    const code = totpCode(seed, step + offset)
    if (!near.includes(code)) assert.equal(matchTotp(seed, code, at), undefined)
  }
  for (const text of ['', '12345', '1234567', ' 12345', '１２３４５６', 'abcdef'])
    assert.equal(matchTotp(seed, text, at), undefined)
})

test('another implementation computes the same codes and reads the provisioning URI', () => {
  const name = anyText({ minLength: 1, maxLength: 20 }).filter((s) => s.isWellFormed())
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 20, maxLength: 20 }), fc.nat(4_000_000_000), (seed, seconds) => {
      const uri = provisioningUri({ seed, issuer: 'Holdfast (a&b)', account: 'tenant/ana@example.org' })
      const theirs = URI.parse(uri) as TOTP
      assert.equal(theirs.label, 'tenant/ana@example.org')
      assert.equal(theirs.issuer, 'Holdfast (a&b)')
      const at = new Date(seconds * 1000)
      assert.equal(theirs.generate({ timestamp: at.getTime() }), totpCode(seed, totpStep(at)))
    }),
  )
  fc.assert(
    fc.property(name, (account) => {
      const url = new URL(provisioningUri({ seed: rfcSeed, issuer: 'Holdfast', account }))
      return decodeURIComponent(url.pathname) === `/Holdfast:${account}`
    }),
  )
})
