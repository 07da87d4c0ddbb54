import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { generateLicenseKey, peekLicense, readLicenseKeys, verifyLicense } from '@holdfast/crypto/license'
import { startShell } from '../../test/support/shell.ts'

const day = 86_400
const now = Math.floor(Date.now() / 1000)
const claims = {
  iss: 'Holdfast licensing',
  sub: 'ACME',
  jti: 'lic-1',
  iat: 1_700_000_000,
  nbf: 1_700_000_000,
  exp: now + 30 * day,
  grace_days: 14,
  edition: 'enterprise',
  features: ['saml', 'scim'],
  limits: { users: 500, devices: null },
}

/** Starts a shell without a server, with a key pair and temporary files. */
async function start(t: TestContext) {
  const { home, run } = await startShell(t)
  const at = (name: string) => join(home, name)
  const write = async (name: string, content: unknown) => {
    await writeFile(at(name), typeof content === 'string' ? content : JSON.stringify(content))
    return at(name)
  }
  const made = await run(['license', 'keygen', '--out', at('keys')])
  assert.equal(made.code, 0, made.err)
  const [key, pub] = [at('keys/license-key.pem'), at('keys/license-key.pub.pem')]
  const license = (...args: string[]) => run(['license', ...args])
  /** Issues a license with these claims and returns its path. */
  const issue = async (changed: object = {}) => {
    const { code, out, err } = await license('sign', await write('c.json', { ...claims, ...changed }), '--key', key)
    assert.equal(code, 0, err)
    return write('acme.license', out)
  }
  return { at, write, made, key, pub, license, issue }
}

test('keygen writes a key pair, with a private key that only its owner can read, and prints its id', async (t) => {
  const { made, key, pub } = await start(t)
  const [held] = readLicenseKeys(await readFile(pub, 'utf8'))
  assert.match(made.out, new RegExp(`^kid +${held?.kid}\\n`))
  assert.doesNotMatch(made.out + made.err, /BEGIN/)
  if (process.platform !== 'win32') assert.equal((await stat(key)).mode & 0o777, 0o600)
})

test('keygen overwrites no file, and leaves no half of a pair', async (t) => {
  const { at, write, key, pub, license } = await start(t)
  const before = [await readFile(key), await readFile(pub)]
  const again = await license('keygen', '--out', at('keys'))
  assert.deepEqual([again.code, again.out], [2, ''])
  assert.match(again.err, /license-key\.pem .+ already exists/)
  assert.deepEqual([await readFile(key), await readFile(pub)], before)

  await mkdir(at('other'))
  await write('other/license-key.pub.pem', 'mine')
  const half = await license('keygen', '--out', at('other'))
  assert.equal(half.code, 2)
  assert.match(half.err, /license-key\.pub\.pem .+ already exists/)
  assert.deepEqual(await readdir(at('other')), ['license-key.pub.pem'])
  assert.equal(await readFile(at('other/license-key.pub.pem'), 'utf8'), 'mine')
})

test('keygen refuses a folder path that is a file', async (t) => {
  const { write, license } = await start(t)
  const { code, err } = await license('keygen', '--out', await write('file', ''))
  assert.equal(code, 2)
  assert.match(err, /cannot be created/)
})

test('sign prints a license that verifies, or writes it to a new file', async (t) => {
  const { at, write, key, pub, license } = await start(t)
  const keys = readLicenseKeys(await readFile(pub, 'utf8'))
  const args = ['sign', await write('c.json', claims), '--key', key]
  const printed = await license(...args)
  assert.deepEqual(verifyLicense(printed.out, keys), claims)
  assert.deepEqual(verifyLicense(JSON.parse((await license(...args, '--json')).out).license, keys), claims)

  const written = await license(...args, '--out', at('l'))
  assert.deepEqual([written.code, written.out], [0, ''])
  assert.equal(await readFile(at('l'), 'utf8'), printed.out)
  const secret = await readFile(key, 'utf8')
  for (const path of [key, at('l'), at('no/such/l')])
    assert.equal((await license(...args, '--out', path)).code, 2, path)
  assert.equal(await readFile(key, 'utf8'), secret)
})

test('sign refuses wrong claims, with the correction', async (t) => {
  const { at, write, key, license } = await start(t)
  const twice = `{"sub":"x",${JSON.stringify(claims).slice(1)}`
  for (const [content, said] of [
    [{ ...claims, sub: undefined }, /^Error: the claim sub is missing; .+\n$/],
    [{ ...claims, seats: 5 }, /^Error: unknown claim "seats"; .+\n$/],
    [{ ...claims, limits: { users: -1 } }, /^Error: the limit users must be a whole number from 0 .+\n$/],
    [{ ...claims, exp: claims.nbf }, /nbf must be earlier than exp/],
    [twice, /c\.json has duplicate members/],
    ['{', /c\.json is not JSON/],
    ['[]', /c\.json is not a JSON object/],
    ['', /c\.json is not JSON/],
  ] as const) {
    const { code, out, err } = await license('sign', await write('c.json', content), '--key', key, '--out', at('l'))
    assert.deepEqual([code, out], [2, ''])
    assert.match(err, said)
  }
  await assert.rejects(stat(at('l')), { code: 'ENOENT' })
})

test('sign refuses a text that is no private key, without printing it', async (t) => {
  const { write, pub, license } = await start(t)
  const file = await write('c.json', claims)
  for (const key of [pub, file, await write('empty', '')]) {
    const { code, out, err } = await license('sign', file, '--key', key)
    assert.deepEqual([code, out], [2, ''])
    assert.match(err, /^Error: the private key must be an unencrypted Ed25519 key in PEM.+\n$/)
  }
  assert.equal((await license('sign', file)).code, 2)
})

test('a missing file and a directory are refused by name', async (t) => {
  const { at, write, key, license, issue } = await start(t)
  const [file, claimsFile] = [await issue(), await write('c.json', claims)]
  for (const [path, said] of [
    [at('none'), /none can't be read: there is no such file/],
    [at('keys'), /keys can't be read: it is a directory/],
  ] as const)
    for (const args of [
      ['sign', path, '--key', key],
      ['sign', claimsFile, '--key', path],
      ['inspect', path],
      ['inspect', file, '--keys', path],
    ]) {
      const { code, out, err } = await license(...args)
      assert.deepEqual([code, out], [2, ''], args.join(' '))
      assert.match(err, said)
    }
})

test('inspect shows the claims of a license, and that the signature was not checked', async (t) => {
  const { license, issue } = await start(t)
  const file = await issue({ deployment_id: '0198c0de-0000-7000-8000-0123456789ab' })
  const { code, out, err } = await license('inspect', file)
  assert.equal(code, 0)
  assert.match(err, /not checked/)
  const shown = Object.fromEntries(out.split('\n').map((line) => line.split(/ {2,}/)))
  const { kid } = peekLicense(await readFile(file, 'utf8'))
  assert.deepEqual(shown, {
    customer: 'ACME',
    edition: 'enterprise',
    license_id: 'lic-1',
    issuer: 'Holdfast licensing',
    issued_at: '2023-11-14T22:13:20.000Z',
    valid_from: '2023-11-14T22:13:20.000Z',
    expires_at: new Date(claims.exp * 1000).toISOString(),
    grace_ends_at: new Date((claims.exp + 14 * day) * 1000).toISOString(),
    state: 'active',
    'limits.users': '500',
    'limits.devices': 'unlimited',
    features: 'saml, scim',
    deployment_id: '0198c0de-0000-7000-8000-0123456789ab',
    kid,
    signature: 'not_checked',
    '': undefined,
  })
  const { limits, features } = JSON.parse((await license('inspect', file, '--json')).out)
  assert.deepEqual({ limits, features }, { limits: claims.limits, features: claims.features })
})

test('inspect shows the state of a license: not yet valid, active, in grace or expired', async (t) => {
  const { license, issue } = await start(t)
  for (const [changed, state] of [
    [{ nbf: now + day }, 'not_yet_valid'],
    [{}, 'active'],
    [{ exp: now - day }, 'grace'],
    [{ exp: now - day, grace_days: 0 }, 'expired'],
    [{ exp: now - 15 * day }, 'expired'],
  ] as const) {
    const { code, out } = await license('inspect', await issue(changed), '--json')
    assert.equal(code, 0)
    assert.equal(JSON.parse(out).state, state)
  }
})

test('inspect checks the signature; a bad one exits with 1 and still shows the claims', async (t) => {
  const { write, pub, license, issue } = await start(t)
  const file = await issue()
  const ask = async (path: string, keys: string) => {
    const { code, out, err } = await license('inspect', path, '--keys', keys, '--json')
    return { code, err, shown: JSON.parse(out) as Record<string, unknown> }
  }
  const good = await ask(file, pub)
  assert.deepEqual([good.code, good.err, good.shown.signature], [0, '', 'good'])

  const strange = await ask(file, await write('other.pem', generateLicenseKey().publicKey))
  assert.deepEqual([strange.code, strange.shown.signature], [1, 'unknown_key'])
  assert.match(strange.err, /^The signature is invalid: .+ signed with an unknown key.+\.\n$/)

  const [head, , tail] = (await readFile(file, 'utf8')).split('.')
  const payload = Buffer.from(JSON.stringify({ ...claims, limits: {} })).toString('base64url')
  const changed = await ask(await write('changed', `${head}.${payload}.${tail}`), pub)
  assert.deepEqual([changed.code, changed.shown.signature, changed.shown.customer], [1, 'bad_signature', 'ACME'])
})

test('inspect refuses a file without a license, and wrong keys', async (t) => {
  const { write, key, license, issue } = await start(t)
  const file = await issue()
  const text = await readFile(file, 'utf8')
  for (const content of ['', 'no license', `${text}${text}`, text.slice(0, -20).replace('.', ''), `${text}\0`]) {
    const { code, out, err } = await license('inspect', await write('bad', content))
    assert.deepEqual([code, out], [2, ''])
    assert.match(err, /^Error: the license .+; copy the complete, unchanged file again\n$/)
  }
  for (const [keys, said] of [
    [key, /contains a private key/],
    [file, /complete PEM blocks/],
  ] as const) {
    const { code, out, err } = await license('inspect', file, '--keys', keys)
    assert.deepEqual([code, out], [2, ''])
    assert.match(err, said)
  }
})

test('a name in a license cannot send control characters to the terminal', async (t) => {
  const { license, issue } = await start(t)
  const { out } = await license('inspect', await issue({ sub: 'ACME \u202egpj' }))
  assert.match(out, /^customer +ACME \\u202egpj\n/)
})
