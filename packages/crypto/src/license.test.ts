import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHmac, createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { importJWK, jwtVerify } from 'jose'
import { withoutOpenssl } from '../test/support/certificates.ts'
import {
  generateLicenseKey,
  type LicenseClaims,
  LicenseError,
  type LicenseErrorCode,
  peekLicense,
  readLicenseKeys,
  signLicense,
  verifyLicense,
} from './license.ts'

const claims: LicenseClaims = {
  iss: 'Holdfast licensing',
  sub: 'Société Générique 🔒',
  jti: 'lic-2030-0001',
  iat: 1_893_456_000,
  nbf: 1_893_456_000,
  exp: 1_924_992_000,
  grace_days: 14,
  edition: 'enterprise',
  features: ['saml', 'scim'],
  limits: { tenants: 1, users: 500, devices: 0, bandwidth_gb_month: null },
  deployment_id: '0198c0de-0000-7000-8000-0123456789ab',
}
const { privateKey, publicKey, kid } = generateLicenseKey()
const keys = readLicenseKeys(publicKey)
const license = signLicense(claims, privateKey)
const [head = '', body = '', tail = ''] = license.split('.')
const alteredTail = `${tail.startsWith('A') ? 'B' : 'A'}${tail.slice(1)}`

const b64 = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const header = { typ: 'license+jwt', alg: 'Ed25519', kid }

/** Makes a license with any header and claims and a valid signature. */
function forge(changedHeader: Record<string, unknown>, payload: unknown = claims, key = privateKey): string {
  const input = `${b64({ ...header, ...changedHeader })}.${b64(payload)}`
  return `${input}.${sign(null, Buffer.from(input), createPrivateKey(key)).toString('base64url')}`
}

/** Checks the code, and that the message has at most two parts and contains nothing of the file. */
const withCode = (code: LicenseErrorCode) => (error: unknown) => {
  assert.ok(error instanceof LicenseError)
  assert.equal(error.code, code, error.message)
  assert.match(error.message, /^[^;]+(?:; [^;]+)?$/)
  for (const held of [body, tail, claims.sub, claims.jti]) assert.ok(!error.message.includes(held), error.message)
  assert.equal(error.cause, undefined)
  return true
}
const refuses = (file: string, code: LicenseErrorCode) =>
  assert.throws(() => verifyLicense(file, keys), withCode(code), file.slice(0, 100))

test('a license verifies, with white space around it and without', () => {
  for (const file of [license, `${license}\n`, `\ufeff\r\n ${license}\t\r\n\n`]) {
    assert.deepEqual(verifyLicense(file, keys), claims)
    assert.deepEqual(peekLicense(file), { kid, claims })
  }
  assert.equal(Buffer.from(head, 'base64url').toString(), JSON.stringify(header))
  const { deployment_id: _, ...anywhere } = { ...claims, features: [], limits: {}, grace_days: 0 }
  assert.deepEqual(verifyLicense(signLicense(anywhere, privateKey), keys), anywhere)
})

test('the kid is the thumbprint of the key (RFC 8037 appendix A.3)', () => {
  const x = Buffer.from('11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', 'base64url')
  const spki = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), x]).toString('base64')
  const [key] = readLicenseKeys(`-----BEGIN PUBLIC KEY-----\n${spki}\n-----END PUBLIC KEY-----\n`)
  assert.equal(key?.kid, 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k')
})

test('jose accepts a license as JWT with the same claims', async () => {
  const jwk = await importJWK(
    { kty: 'OKP', crv: 'Ed25519', ...keys[0]?.publicKey.export({ format: 'jwk' }) },
    'Ed25519',
  )
  const options = { issuer: claims.iss, typ: 'license+jwt', currentDate: new Date(claims.nbf * 1000) }
  const { payload, protectedHeader } = await jwtVerify(license, jwk, options)
  assert.deepEqual(payload, claims)
  assert.deepEqual(protectedHeader, header)
})

describe('refused', () => {
  test('a license with changed parts', () => {
    refuses(`${head}.${b64({ ...claims, sub: 'Somebody else' })}.${tail}`, 'bad_signature')
    refuses(`${head}.${body}.${alteredTail}`, 'bad_signature')
    refuses(`${head}.${body}.${b64('short')}`, 'bad_signature')
    refuses(`${b64({ alg: 'Ed25519', typ: 'license+jwt', kid })}.${body}.${tail}`, 'bad_signature')
  })

  test('a license with a bad signature, before its claims are read', () => {
    for (const payload of ['{', '{}', '[]', { ...claims, exp: 0 }])
      refuses(`${head}.${b64(payload)}.${tail}`, 'bad_signature')
  })

  test('a license of another key, under its own or the expected kid', () => {
    const stranger = generateLicenseKey()
    const theirs = signLicense(claims, stranger.privateKey)
    refuses(theirs, 'unknown_key')
    assert.throws(() => verifyLicense(license, []), withCode('unknown_key'))
    refuses(forge({}, claims, stranger.privateKey), 'bad_signature')
    const both = readLicenseKeys(`The old one\n${publicKey}The new one\r\n${stranger.publicKey}`)
    for (const file of [license, theirs]) assert.deepEqual(verifyLicense(file, both), claims)
  })

  test('a license of another algorithm or type', () => {
    for (const alg of ['none', 'None', 'EdDSA', 'ed25519', 'ES256', '', null, undefined])
      refuses(forge({ alg }), 'wrong_type')
    const input = `${b64({ ...header, alg: 'HS256' })}.${body}`
    const x = keys[0]?.publicKey.export({ format: 'jwk' }).x ?? ''
    for (const secret of [publicKey, publicKey.trim(), Buffer.from(x, 'base64url')])
      refuses(`${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`, 'wrong_type')
    for (const typ of ['JWT', 'device+jwt', 'LICENSE+JWT', 'application/license+jwt', undefined])
      refuses(forge({ typ }), 'wrong_type')
  })

  test('a header with other members or without the thumbprint', () => {
    const jwk = keys[0]?.publicKey.export({ format: 'jwk' })
    for (const more of [{ jwk }, { jku: 'https://x.example' }, { x5u: 'https://x.example' }, { x5c: [] }, { cty: 'x' }])
      refuses(forge(more), 'malformed')
    for (const more of [{ crit: ['exp'], exp: 1 }, { b64: false }, { kid: undefined }, { kid: 1 }, { kid: '../key' }])
      refuses(forge(more), 'malformed')
    const doubled = `{"alg":"none",${JSON.stringify(header).slice(1)}`
    for (const text of [doubled, '[]', 'null', '{"typ"']) refuses(`${b64(text)}.${body}.${tail}`, 'malformed')
  })

  test('a text that is not three parts of canonical base64url', () => {
    const loose = `${tail.slice(0, -1)}${String.fromCharCode(tail.charCodeAt(85) + 1)}`
    for (const file of [
      ...['', ' \n', 'license', '..', `${head}.${body}`, `${license}.`, `${license}.AA`, `${head}..${tail}`],
      ...[`${head}.${body}.`, `.${body}.${tail}`, `${license}==`, `${head}=.${body}.${tail}`, `${license}\0`],
      ...[`\0${license}`, `${head}.${body.slice(0, 8)}\0${body.slice(8)}.${tail}`, `${head}.${body}.${loose}`],
      ...[`${head}\n.${body}.${tail}`, `${head}.${body.slice(0, 76)}\n${body.slice(76)}.${tail}`, `"${license}"`],
      ...[`${license}\n${license}`, `${head}.${body}+.${tail}`, license.replaceAll('.', '\u2024'), `${license}é`],
    ])
      refuses(file, 'malformed')
  })

  test('a file of more than 64 KiB, white space included', () => {
    const padded = license.padEnd(64 * 1024)
    assert.deepEqual(verifyLicense(padded, keys), claims)
    refuses(`${padded} `, 'malformed')
    refuses(license.padEnd(60_000, '\u2003'), 'malformed')
  })

  test('claims that are not strict JSON', () => {
    const json = JSON.stringify(claims)
    const twice = ['{"sub":"x",', '{"\\u0073ub":"x",'].map((start) => start + json.slice(1))
    const twiceInside = json.replace('"users":500', '"users":500,"users":900')
    for (const payload of [...twice, twiceInside, '{', '[]', 'null', `\ufeff${json}`, `${json},`])
      refuses(forge({}, payload), 'malformed')
  })
})

describe('wrong claims are refused when read and when signed', () => {
  const wrong: Record<string, Record<string, unknown>[]> = {
    iss: [{ iss: '' }, { iss: 'x'.repeat(257) }, { iss: undefined }, { iss: null }],
    sub: [{ sub: 7 }, { sub: 'a\u0000b' }, { sub: '\ud800' }, { sub: '🔒'.repeat(257) }],
    jti: [{ jti: 'x'.repeat(129) }, { jti: undefined }],
    iat: [{ iat: -1 }, { iat: '1893456000' }, { iat: undefined }],
    nbf: [{ nbf: claims.exp }, { nbf: claims.exp + 1 }, { nbf: 0.5 }, { nbf: undefined }],
    exp: [{ exp: claims.exp * 1000 }, { exp: null }, { exp: undefined }],
    grace_days: [{ grace_days: 91 }, { grace_days: -1 }, { grace_days: 1.5 }, { grace_days: undefined }],
    edition: [{ edition: 'x'.repeat(65) }, { edition: [] }, { edition: undefined }],
    features: [
      ...[{ features: ['a', 'a'] }, { features: [''] }, { features: [1] }, { features: 'saml' }],
      ...[{ features: undefined }, { features: Array.from({ length: 65 }, (_, i) => `f${i}`) }],
    ],
    limits: [{ limits: undefined }, { limits: null }, { limits: [] }],
    users: [{ limits: { users: -1 } }, { limits: { users: 2 ** 53 } }, { limits: { users: 1.5 } }],
    tenants: [{ limits: { tenants: '5' } }],
    seats: [{ limits: { seats: 5 } }, { seats: 5 }],
    deployment_id: [
      { deployment_id: null },
      { deployment_id: claims.deployment_id?.toUpperCase() },
      { deployment_id: `${claims.deployment_id}0` },
    ],
  }
  for (const [name, changes] of Object.entries(wrong))
    test(`the error names the claim: ${name}`, () => {
      for (const changed of changes) {
        const all = { ...claims, ...changed } as LicenseClaims
        const named = (error: unknown) => withCode('bad_claims')(error) && String(error).includes(name)
        assert.throws(() => verifyLicense(forge({}, all), keys), named, JSON.stringify(changed))
        assert.throws(() => peekLicense(forge({}, all)), named)
        assert.throws(() => signLicense(all, privateKey), named)
      }
    })

  test('claims named like members of every object', () => {
    for (const name of ['__proto__', 'constructor', 'toString']) {
      const added = `{"${name}":1,${JSON.stringify(claims).slice(1)}`
      refuses(forge({}, added), 'bad_claims')
      refuses(forge({}, JSON.stringify(claims).replace('"users"', `"${name}"`)), 'bad_claims')
    }
  })
})

test('a license with any changed byte is refused', () => {
  const bytes = Buffer.from(license)
  const flip = fc.tuple(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }))
  const property = fc.property(flip, ([at, bits]) => {
    const changed = Buffer.from(bytes)
    changed[at] = bytes.readUInt8(at) ^ bits
    assert.throws(() => verifyLicense(changed.toString(), keys), LicenseError)
    assert.throws(() => verifyLicense(changed.toString('latin1'), keys), LicenseError)
  })
  fc.assert(property, { numRuns: 200 })
})

test('keys other than public Ed25519 keys in whole PEM blocks are refused', () => {
  const pem = (type: 'spki' | 'pkcs8', key: { export(options: object): string | Buffer }) =>
    String(key.export({ type, format: 'pem' }))
  const others = [generateKeyPairSync('ec', { namedCurve: 'P-256' }), generateKeyPairSync('x25519')]
  const base64 = publicKey.split('\n')[1] ?? ''
  for (const text of [
    ...['', 'ssh-ed25519 AAAA', publicKey.slice(0, 60), publicKey.replaceAll('PUBLIC KEY', 'CERTIFICATE')],
    ...[
      publicKey.replace(base64, base64.slice(4)),
      publicKey.replace(base64, '!'),
      `${publicKey}-----BEGIN PUBLIC KEY`,
    ],
    ...others.flatMap((pair) => [pem('spki', pair.publicKey), publicKey + pem('spki', pair.publicKey)]),
  ])
    assert.throws(() => readLicenseKeys(text), withCode('malformed'), text)
  for (const text of [privateKey, publicKey + privateKey]) {
    assert.throws(() => readLicenseKeys(text), withCode('malformed'))
    assert.throws(() => readLicenseKeys(text), /private key/)
  }
  for (const text of ['', publicKey, ...others.map((pair) => pem('pkcs8', pair.privateKey))])
    assert.throws(() => signLicense(claims, text), withCode('malformed'))
})

test('openssl verifies the signature of a license, and refuses it over other bytes', { skip: withoutOpenssl }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-license-'))
  const write = (name: string, content: string | Buffer) => writeFileSync(join(directory, name), content)
  const verify = 'pkeyutl -verify -pubin -inkey pub.pem -rawin -in input -sigfile signature'
  const run = () => execFileSync('openssl', verify.split(' '), { cwd: directory, encoding: 'utf8', stdio: 'pipe' })
  try {
    write('pub.pem', publicKey)
    write('signature', Buffer.from(tail, 'base64url'))
    write('input', `${head}.${body}`)
    assert.match(run(), /Signature Verified Successfully/)
    const failure = { status: 1, stdout: /Signature Verification Failure/ }
    write('signature', Buffer.from(alteredTail, 'base64url'))
    assert.throws(run, failure)
    write('signature', Buffer.from(tail, 'base64url'))
    write('input', `${head}.${b64({ ...claims, sub: 'Somebody else' })}`)
    assert.throws(run, failure)
  } finally {
    rmSync(directory, { recursive: true })
  }
})
