import assert from 'node:assert/strict'
import { createPublicKey, diffieHellman, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { isEd25519Key, isX25519Key } from './curve-points.ts'
import { CryptoError } from './errors.ts'
import { parsePublicJwk } from './jwk.ts'

const raw = (type: 'x25519' | 'ed25519') => {
  const pair = type === 'x25519' ? generateKeyPairSync('x25519') : generateKeyPairSync('ed25519')
  return Buffer.from(String(pair.publicKey.export({ format: 'jwk' }).x), 'base64url')
}
const small = ['00', '01', 'ec', 'ed', 'ee'].map((first) => {
  const bytes = Buffer.alloc(32, first < '02' ? 0 : 0xff)
  bytes[0] = Number.parseInt(first, 16)
  bytes[31] = first < '02' ? 0 : 0x7f
  return bytes
})
const ofX25519 = [
  'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
  '5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157',
]
const ofEd25519 = [
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
]

test('generated keys are accepted, and points of small order are refused, as by the platform', () => {
  for (let i = 0; i < 20; i++) {
    assert.ok(isX25519Key(raw('x25519')))
    assert.ok(isEd25519Key(raw('ed25519')))
  }
  const { privateKey } = generateKeyPairSync('x25519')
  for (const bytes of [...small, ...ofX25519.map((hex) => Buffer.from(hex, 'hex'))]) {
    assert.equal(isX25519Key(bytes), false, bytes.toString('hex'))
    const publicKey = createPublicKey({
      key: { kty: 'OKP', crv: 'X25519', x: bytes.toString('base64url') },
      format: 'jwk',
    })
    assert.throws(() => diffieHellman({ privateKey, publicKey }), 'the platform agrees on no secret with it')
  }
})

test('an Ed25519 key of small order, with either sign, is refused as public JWK', () => {
  for (const bytes of [...small, ...ofEd25519.map((hex) => Buffer.from(hex, 'hex'))])
    for (const sign of [0, 0x80]) {
      const signed = Buffer.from(bytes)
      signed[31]! |= sign
      assert.equal(isEd25519Key(signed), false, signed.toString('hex'))
      const jwk = { kty: 'OKP', crv: 'Ed25519', x: signed.toString('base64url') }
      assert.throws(() => parsePublicJwk(jwk), CryptoError)
    }
})
