import assert from 'node:assert/strict'
import { createHmac, createPublicKey } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { CompactSign, compactVerify, importJWK } from 'jose'
import { CryptoError } from './errors.ts'
import { importPublic, type SigningAlg } from './jwk.ts'
import { decodeJws, type KeyLookup, signJws, verifyJws } from './jws.ts'
import { signBytes, type VerificationKey, verifyBytes } from './signature.ts'
import { type GeneratedKey, generateKey, openPrivateKey, softwareSigner } from './signer.ts'

const algs: SigningAlg[] = ['ES256', 'ES384', 'Ed25519']
const typ = 'test+jwt'
const b64 = (value: object | string) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

const lookup =
  ({ kid, publicJwk }: GeneratedKey, alg: SigningAlg): KeyLookup =>
  (asked) =>
    asked === kid ? { publicKey: importPublic(publicJwk), alg } : undefined

async function signed(alg: SigningAlg = 'ES256') {
  const key = generateKey(alg)
  return {
    key,
    jws: await signJws(softwareSigner('policy', key.privateJwk), typ, { hello: 'world' }),
    find: lookup(key, alg),
  }
}

/** Makes a validly signed JWS with any header, by an independent implementation. */
const forge = async (key: GeneratedKey, header: Record<string, unknown>, payload = '{}') =>
  new CompactSign(Buffer.from(payload))
    .setProtectedHeader({ alg: 'ES256', ...header })
    .sign(await importJWK(key.privateJwk, 'ES256'))

describe('published vectors', () => {
  const es256: VerificationKey = {
    alg: 'ES256',
    publicKey: importPublic({
      kty: 'EC',
      crv: 'P-256',
      x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
      y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
    }),
  }
  const a3 =
    'eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q'

  test('RFC 7515 appendix A.3: ES256', () => {
    const { header, payload, signingInput, signature } = decodeJws(a3)
    assert.deepEqual(header, { alg: 'ES256' })
    assert.equal(payload.toString(), '{"iss":"joe",\r\n "exp":1300819380,\r\n "http://example.com/is_root":true}')
    assert.ok(verifyBytes(es256, signingInput, signature))
    assert.ok(!verifyBytes(es256, Buffer.concat([signingInput, Buffer.of(0)]), signature))
  })

  test('RFC 8037 appendix A.4: Ed25519', () => {
    const key: VerificationKey = {
      alg: 'Ed25519',
      publicKey: importPublic({ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }),
    }
    const { payload, signingInput, signature } = decodeJws(
      'eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg',
    )
    assert.equal(payload.toString(), 'Example of Ed25519 signing')
    assert.ok(verifyBytes(key, signingInput, signature))
  })

  test('the algorithms of RFC 7515 appendix A.1 (HS256) and A.5 (none) are refused', () => {
    const key = () => es256
    const hs256 = `${b64({ typ, alg: 'HS256', kid: 'k' })}.${b64('{}')}.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk`
    assert.throws(() => verifyJws(hs256, { typ, key }), { code: 'bad_algorithm' })
    assert.throws(() => decodeJws('eyJhbGciOiJub25lIn0.eyJpc3MiOiJqb2UifQ.'), { code: 'malformed' })
  })
})

for (const alg of algs) {
  test(`${alg}: jose verifies our signatures, and we verify those of jose`, async () => {
    const { key, jws, find } = await signed(alg)
    const theirs = await compactVerify(jws, await importJWK(key.publicJwk, alg))
    assert.deepEqual(theirs.protectedHeader, { alg, typ, kid: key.kid })
    assert.deepEqual(JSON.parse(Buffer.from(theirs.payload).toString()), { hello: 'world' })
    assert.equal(verifyJws(jws, { typ, key: find }).payload.toString(), '{"hello":"world"}')

    const made = await new CompactSign(Buffer.from('bytes'))
      .setProtectedHeader({ alg, typ, kid: key.kid })
      .sign(await importJWK(key.privateJwk, alg))
    assert.equal(verifyJws(made, { typ, key: find }).payload.toString(), 'bytes')
  })
}

test('payload bytes are signed unchanged', async () => {
  const key = generateKey('Ed25519')
  const payload = Buffer.from([0, 255, 1, 254])
  const jws = await signJws(softwareSigner('update', key.privateJwk), typ, payload)
  assert.deepEqual(verifyJws(jws, { typ, key: lookup(key, 'Ed25519') }).payload, payload)
})

test('any changed character of a JWS is refused', async () => {
  const { jws, find } = await signed()
  const alphabet = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=.+/ \n']
  fc.assert(
    fc.property(fc.nat(jws.length - 1), fc.constantFrom(...alphabet), (at, character) => {
      fc.pre(jws[at] !== character)
      assert.throws(() => verifyJws(jws.slice(0, at) + character + jws.slice(at + 1), { typ, key: find }), {
        name: 'CryptoError',
      })
    }),
    { numRuns: 1500 },
  )
})

test('degenerate signatures and keys verify nothing and do not throw', () => {
  for (const alg of algs) {
    const publicKey = importPublic(generateKey(alg).publicJwk)
    const length = alg === 'ES384' ? 96 : 64
    for (const signature of [0, 1, 0xff].map((byte) => Buffer.alloc(length, byte))) {
      assert.equal(verifyBytes({ alg, publicKey }, Buffer.from('x'), signature), false)
    }
    for (const wrong of [0, 1, length - 1, length + 1]) {
      assert.equal(verifyBytes({ alg, publicKey }, Buffer.from('x'), Buffer.alloc(wrong, 1)), false)
    }
  }
  const noKey = Buffer.alloc(32, 0xff)
  assert.throws(() => importPublic({ kty: 'OKP', crv: 'Ed25519', x: noKey.toString('base64url') }), CryptoError)
  const spki = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), noKey])
  const noPoint = createPublicKey({ key: spki, format: 'der', type: 'spki' })
  assert.equal(verifyBytes({ alg: 'Ed25519', publicKey: noPoint }, Buffer.from('x'), Buffer.alloc(64, 1)), false)
})

test('a key of another type or curve neither signs nor verifies', () => {
  const pairs = algs.map((alg) => openPrivateKey(generateKey(alg).privateJwk))
  for (const { alg, privateKey, publicJwk } of pairs) {
    const publicKey = importPublic(publicJwk)
    for (const other of algs.filter((name) => name !== alg)) {
      assert.throws(() => signBytes(other, privateKey, Buffer.from('x')), TypeError)
      const theirs = pairs.find((pair) => pair.alg === other)!
      const signature = signBytes(other, theirs.privateKey, Buffer.from('x'))
      assert.equal(verifyBytes({ alg: other, publicKey }, Buffer.from('x'), signature), false)
      assert.equal(
        verifyBytes({ alg: other, publicKey }, Buffer.from('x'), signBytes(alg, privateKey, Buffer.from('x'))),
        false,
      )
    }
  }
})

test('any flipped bit of the decoded parts is refused', async () => {
  const { jws, find } = await signed()
  const parts = jws.split('.').map((part) => Buffer.from(part, 'base64url'))
  for (const [part, bytes] of parts.entries()) {
    for (let bit = 0; bit < bytes.length * 8; bit += 3) {
      const copy = parts.map((original) => Buffer.from(original))
      copy[part]!.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      const altered = copy.map((buffer) => buffer.toString('base64url')).join('.')
      assert.throws(() => verifyJws(altered, { typ, key: find }), { name: 'CryptoError' }, `part ${part} bit ${bit}`)
    }
  }
})

describe('attacks', () => {
  test('alg none is refused, with and without a signature part', async () => {
    const { key, find } = await signed()
    for (const alg of ['none', 'None', 'NONE', '', null, 1, undefined]) {
      const jws = `${b64({ alg, typ, kid: key.kid })}.${b64('{}')}.AAAA`
      assert.throws(() => verifyJws(jws, { typ, key: find }), { code: 'bad_algorithm' })
    }
    assert.throws(() => verifyJws(`${b64({ alg: 'none', typ, kid: key.kid })}.${b64('{}')}.`, { typ, key: find }), {
      code: 'malformed',
    })
  })

  test('HS256 keyed with the public key is refused', async () => {
    const { key, find } = await signed()
    const input = `${b64({ alg: 'HS256', typ, kid: key.kid })}.${b64('{}')}`
    const pem = importPublic(key.publicJwk).export({ format: 'pem', type: 'spki' })
    const jws = `${input}.${createHmac('sha256', pem).update(input).digest('base64url')}`
    assert.throws(() => verifyJws(jws, { typ, key: find }), { code: 'bad_algorithm' })
  })

  test('a key is refused under another algorithm than its own', async () => {
    const { jws, key } = await signed('Ed25519')
    const publicKey = importPublic(key.publicJwk)
    assert.throws(() => verifyJws(jws, { typ, key: () => ({ publicKey, alg: 'ES256' }) }), { code: 'bad_algorithm' })
    const relabelled = `${b64({ alg: 'ES256', typ, kid: key.kid })}.${jws.split('.').slice(1).join('.')}`
    assert.throws(() => verifyJws(relabelled, { typ, key: () => ({ publicKey, alg: 'ES256' }) }), {
      code: 'bad_signature',
    })
  })

  test('a valid JWS of another type is refused', async () => {
    const { jws, find } = await signed()
    for (const other of ['device+jwt', 'TEST+JWT', 'application/test+jwt', '']) {
      assert.throws(() => verifyJws(jws, { typ: other, key: find }), { code: 'wrong_type' })
    }
  })

  test('keys in jwk, jku, x5u and x5c are ignored', async () => {
    const { key, find } = await signed()
    const attacker = generateKey('ES256')
    const carried = {
      typ,
      jwk: attacker.publicJwk,
      jku: 'https://evil.example/',
      x5u: 'https://evil.example/',
      x5c: ['AA=='],
    }
    const named = await forge(attacker, { ...carried, kid: key.kid })
    assert.throws(() => verifyJws(named, { typ, key: find }), { code: 'bad_signature' })
    const own = await forge(attacker, { ...carried, kid: attacker.kid })
    assert.throws(() => verifyJws(own, { typ, key: find }), { code: 'unknown_key' })
  })

  test('a kid that is a path, a query, a prototype member or missing is refused', async () => {
    const { key, find } = await signed()
    for (const kid of ['../../dev/null', "' OR 1=1 --", '__proto__', 'constructor']) {
      assert.throws(() => verifyJws(`${b64({ alg: 'ES256', typ, kid })}.${b64('{}')}.AAAA`, { typ, key: find }), {
        code: 'unknown_key',
      })
    }
    for (const kid of [undefined, 1, '', [key.kid]]) {
      assert.throws(() => verifyJws(`${b64({ alg: 'ES256', typ, kid })}.${b64('{}')}.AAAA`, { typ, key: find }), {
        code: 'malformed',
      })
    }
  })

  test('critical extensions and duplicate members are refused', async () => {
    const { key, jws, find } = await signed()
    const tail = jws.slice(jws.indexOf('.'))
    const headers = [
      b64({ alg: 'ES256', typ, kid: key.kid, crit: ['exp'], exp: 1 }),
      b64({ alg: 'ES256', typ, kid: key.kid, b64: false }),
      b64(`{"alg":"none","alg":"ES256","typ":"${typ}","kid":"${key.kid}"}`),
      b64('[]'),
      b64('null'),
      b64('{"alg"'),
    ]
    for (const header of headers)
      assert.throws(() => verifyJws(header + tail, { typ, key: find }), { code: 'malformed' })
  })

  test('a JWS must have exactly three canonical parts', async () => {
    const { jws } = await signed()
    const [header, payload, signature] = jws.split('.')
    const shapes = [
      '',
      '..',
      `${header}.${payload}`,
      `${jws}.AA`,
      `${header}..${signature}`,
      `.${payload}.${signature}`,
      `${jws}=`,
      `${jws}\n`,
      ` ${jws}`,
      `${header}=.${payload}.${signature}`,
      `${header}.${payload}.${signature}+`,
    ]
    for (const shape of shapes) assert.throws(() => decodeJws(shape), { code: 'malformed' }, shape)
  })
})
