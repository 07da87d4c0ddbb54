import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { defaultPasswordParams } from '@holdfast/crypto'
import pg from 'pg'
import { makeUser, passwordOf, signInAs, trySignIn } from '../support/actors/people.ts'
import { createClock, type Kit, startKit } from '../support/deployment/deployment.ts'
import { askPython, runTool, without } from './tools.ts'

async function onUsers<T extends pg.QueryResultRow>(kit: Kit, query: string, values: unknown[]): Promise<T[]> {
  const client = new pg.Client({ connectionString: kit.databaseUrl })
  await client.connect()
  try {
    return (await client.query<T>(query, values)).rows
  } finally {
    await client.end()
  }
}
const changePassword = (kit: Kit, username: string, phc: string) =>
  onUsers(kit, 'update users set password_phc = $2 where username = $1 returning 1 as changed', [username, phc])

test('argon2-cffi verifies the stored hash of a password, and of no other', {
  skip: without('python3-argon2'),
}, async (t) => {
  const kit = await startKit(t, { passwordCost: defaultPasswordParams })
  await makeUser(kit, 'ana')
  await makeUser(kit, 'zoë')
  type Stored = { username: string; password_phc: string }
  const stored = await onUsers<Stored>(kit, 'select username, password_phc from users where username = any($1)', [
    ['ana', 'zoë'],
  ])
  assert.equal(stored.length, 2)
  const checks = stored.flatMap(({ username, password_phc: phc }) => [
    { phc, password: passwordOf(username) },
    { phc, password: passwordOf(`${username}x`) },
  ])
  type Verdict = { matches: boolean; type: string; version: number; memory_kib: number; salt: number; tag: number }
  const verdicts = await askPython<Verdict[]>('python3-argon2', 'verify_password.py', checks)
  assert.deepEqual(
    verdicts.map((v) => v.matches),
    [true, false, true, false],
  )
  for (const v of verdicts) {
    assert.deepEqual([v.type, v.version, v.salt, v.tag], ['ID', 19, 16, 32])
    assert.ok(v.memory_kib >= 19_456, 'not below the floor that OWASP recommends')
  }
})

test('a hash that the argon2 command made signs its user in', { skip: without('argon2') }, async (t) => {
  const kit = await startKit(t)
  await makeUser(kit, 'ana')
  const password = 'pässwörd that another program hashed 🔑'
  const salt = randomBytes(8).toString('hex')
  const cost = ['-id', '-t', '2', '-k', '19456', '-p', '1', '-l', '32', '-e']
  const hashed = await runTool('argon2', [salt, ...cost], { input: password.normalize('NFC') })
  assert.equal(hashed.status, 0, hashed.stderr)
  assert.match(hashed.stdout, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  assert.equal((await changePassword(kit, 'ana', hashed.stdout.trim())).length, 1)
  assert.equal((await trySignIn(kit, 'ana')).status, 401, 'the former password')
  await signInAs(kit, 'ana', { password })
  await signInAs(kit, 'ana', { password: password.normalize('NFD') })
})

test('codes of oathtool enroll the second factor and sign in, each once', { skip: without('oathtool') }, async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  await makeUser(kit, 'ana')
  const person = await signInAs(kit, 'ana')
  const begun = await person.post('/v1/admin/users/totp/enroll', { current_password: passwordOf('ana') })
  assert.equal(begun.status, 200, begun.text)
  const codeAt = async (at: Date, seconds = 0) => {
    const time = new Date(at.getTime() + seconds * 1000)
      .toISOString()
      .replace(/\.\d+Z$/, ' UTC')
      .replace('T', ' ')
    const made = await runTool('oathtool', ['--totp', '--base32', '--now', time, '-'], { input: begun.json.secret })
    assert.equal(made.status, 0, made.stderr)
    return made.stdout.trim()
  }
  const first = await codeAt(clock.now())
  const verified = await person.post('/v1/admin/users/totp/verify', { code: first })
  assert.equal(verified.status, 200, verified.text)
  assert.equal((await trySignIn(kit, 'ana', { totp: first })).status, 401, 'it has been used')
  clock.advance(60)
  assert.equal((await trySignIn(kit, 'ana', { totp: await codeAt(clock.now(), 120) })).status, 401, 'too early')
  const second = await codeAt(clock.now())
  assert.equal((await trySignIn(kit, 'ana', { totp: second })).status, 200)
  assert.equal((await trySignIn(kit, 'ana', { totp: second })).status, 401, 'it has been used')
})
