import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Answered, login, person, startServer, startShell } from '../test/support/shell.ts'

test('login reads the code from the line after the password, and never from an argument', async (t) => {
  const { url, asked } = await startServer(t, () => login)
  const { run } = await startShell(t, { HOLDFAST_URL: url })
  const admin = ['login', '--username', 'admin']
  assert.equal((await run([...admin, '--totp'], { stdin: 'secret\n123 456\n' })).code, 0)
  assert.equal((await run([...admin, '--recovery-code'], { stdin: 'secret\r\n0000-1111\r\n' })).code, 0)
  const named = { username: 'admin', password: 'secret' }
  assert.deepEqual(
    asked.map(({ body }) => body),
    [
      { ...named, totp: '123456' },
      { ...named, recovery_code: '0000-1111' },
    ],
  )
  for (const [args, stdin] of [
    [['--totp'], 'secret\n'],
    [['--totp'], 'secret\n12345\n'],
    [['--totp', '123456'], 'secret\n'],
    [['--totp', '--recovery-code'], 'secret\n123456\n'],
  ] as const)
    assert.equal((await run([...admin, ...args], { stdin })).code, 2, args.join(' '))
  assert.equal((await run(['login', '--api-key', '--totp'], { stdin: 'hfk_x\n123456\n' })).code, 2)
  assert.equal(asked.length, 2)
})

const refused = (status: number, error: string, detail: string): Answered => ({
  status,
  body: { error, detail, request_id: 'r-1' },
})

test('a refused sign-in without a code suggests --totp; one with a code does not', async (t) => {
  const { url } = await startServer(t, () => refused(401, 'unauthorized', 'missing or invalid credentials'))
  const { run } = await startShell(t, { HOLDFAST_URL: url })
  const plain = await run(['login', '--username', 'admin'], { stdin: 'secret' })
  assert.equal(plain.code, 1)
  assert.match(plain.err, /^Error: .+\nIf the account .+ --totp\.\n$/)
  const coded = await run(['login', '--username', 'admin', '--totp'], { stdin: 'secret\n123456' })
  assert.doesNotMatch(coded.err, /--totp/)
})

test('a required action of the session is printed with its command', async (t) => {
  for (const [requiredAction, command] of [
    ['change_password', 'holdfast user password'],
    ['enroll_mfa', 'holdfast totp enroll'],
  ] as const) {
    const body = { ...(login.body as object), required_action: requiredAction }
    const { url } = await startServer(t, () => ({ ...login, body }))
    const { run } = await startShell(t, { HOLDFAST_URL: url })
    const { code, err } = await run(['login', '--username', 'admin'], { stdin: 'secret' })
    assert.equal(code, 0)
    assert.equal(err.trimEnd().split('\n').at(-1)?.endsWith(command), true, err)
  }
})

test('an error that names an API path is followed by the matching command', async (t) => {
  for (const [detail, advice] of [
    ['this change needs a one-time code: send one to POST /v1/admin/auth/step-up', 'holdfast auth step-up'],
    ['enroll one with POST /v1/admin/users/totp/enroll and /verify', 'holdfast totp enroll'],
    ['set your own with POST /v1/admin/users/password first', 'holdfast user password'],
  ]) {
    const { url } = await startServer(t, () => refused(403, 'forbidden', detail ?? ''))
    const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
    const { code, err } = await run(['role', 'grant', 'usr_1', 'auditor'])
    assert.equal(code, 1)
    assert.equal(err, `Error: ${detail} (request r-1)\nRun: ${advice}\n`)
  }
})

/** Starts a server that gives the session the next number in every renewing response. */
async function startRenewing(t: TestContext, bodies: Record<string, unknown>) {
  let number = 1
  const { url, asked } = await startServer(t, ({ line }) => {
    if (line === 'POST /admin/login') return login
    if (line === 'GET /v1/admin/me') return { body: { ...person, session: { required_action: null } } }
    return { headers: { 'set-cookie': `holdfast_session=renewed-${++number}; Path=/` }, body: bodies[line] ?? {} }
  })
  const shell = await startShell(t)
  await shell.run(['login', '--url', url, '--username', 'admin'], { stdin: 'secret' })
  const file = join(shell.home, '.config', 'holdfast', 'config.json')
  const saved = async () => JSON.parse(await readFile(file, 'utf8')).session
  return { url, asked, ...shell, file, saved }
}

test('step-up, a new own password and a new second factor renew the saved cookie', async (t) => {
  const { run, saved, asked, file } = await startRenewing(t, {
    'POST /v1/admin/users/totp/verify': { mfa: { enabled: true }, recovery_codes: ['aaaa', 'bbbb'] },
    'POST /v1/admin/users/password': { user: { username: 'admin' }, changed: true, sessions_terminated: 1 },
  })
  const before = await saved()
  const cookies = ['holdfast_session=s3cret']
  for (const [args, stdin] of [
    [['auth', 'step-up'], '123456\n'],
    [['user', 'password'], 'secret\nanother secret\n'],
    [['totp', 'verify'], '123456\n'],
  ] as const) {
    const { code, err, out } = await run([...args], { stdin })
    assert.equal(code, 0, err)
    assert.doesNotMatch(out + err, /renewed-|another/)
    cookies.push(`holdfast_session=renewed-${cookies.length + 1}`)
    assert.deepEqual(await saved(), { ...before, cookie: cookies.at(-1) })
  }
  if (process.platform !== 'win32') assert.equal((await stat(file)).mode & 0o777, 0o600)
  const changes = asked.slice(1).filter(({ line }) => line.startsWith('POST'))
  assert.deepEqual(
    changes.map(({ headers, body }) => [headers.cookie, body]),
    [
      [cookies[0], { code: '123456' }],
      [cookies[1], { current_password: 'secret', new_password: 'another secret' }],
      [cookies[2], { code: '123456' }],
    ],
  )
  const reads = asked.filter(({ line }) => line === 'GET /v1/admin/me').map(({ headers }) => headers.cookie)
  assert.deepEqual(reads, [cookies[2], cookies[3]], 'the required action is read with the new cookie')
})

test('recovery codes are printed even if the new cookie cannot be saved', async (t) => {
  const verified = { mfa: { enabled: true }, recovery_codes: ['aaaa', 'bbbb'] }
  const { url } = await startServer(t, ({ line }) => {
    if (line === 'POST /admin/login') return login
    if (line === 'GET /v1/admin/me') return { body: { ...person, session: { required_action: null } } }
    writeFileSync(file, 'spoilt')
    return { headers: { 'set-cookie': 'holdfast_session=renewed; Path=/' }, body: verified }
  })
  const { run, home } = await startShell(t)
  const file = join(home, '.config', 'holdfast', 'config.json')
  await run(['login', '--url', url, '--username', 'admin'], { stdin: 'secret' })
  const { code, out, err } = await run(['totp', 'verify'], { stdin: '123456' })
  assert.deepEqual([code, out], [0, 'aaaa\nbbbb\n'])
  assert.match(err, /sign in again/)
})

test('a password is generated or read; that of another user needs no current one', async (t) => {
  const answer = { user: { user_id: 'usr_2', username: 'anna' }, changed: true, sessions_terminated: 2 }
  const { url, asked } = await startServer(t, ({ body }) => {
    const temporary = { secret: 'Tmp-1', expires_at: '2030-01-01T00:00:00Z' }
    return { body: { ...answer, ...((body as { generate?: true }).generate && temporary) } }
  })
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const generated = await run(['user', 'password', 'usr_2', '--generate'])
  assert.equal(generated.out, 'Tmp-1\n')
  assert.match(generated.err, /anna .*2030-01-01.*2 sessions ended/)
  const given = await run(['user', 'password', 'usr_2'], { stdin: 'hunter two\n' })
  assert.equal(given.out, '')
  assert.doesNotMatch(given.err, /hunter/)
  assert.deepEqual(
    asked.map(({ body }) => body),
    [
      { user_id: 'usr_2', generate: true },
      { user_id: 'usr_2', new_password: 'hunter two' },
    ],
  )
  for (const args of [
    ['user', 'password'],
    ['user', 'password', '--generate'],
  ])
    assert.equal((await run(args, { stdin: 'a\nb\n' })).code, 2, args.join(' '))
  assert.equal(asked.length, 2)
})

test('enrolling a second factor prints the QR code, the secret and the next command', async (t) => {
  const body = { provisioning_uri: 'otpauth://totp/x', secret: 'ABCDEFGHIJ', expires_at: '2030-01-01T00:00:00Z' }
  const { url, asked } = await startServer(t, () => ({ body }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const { out, err } = await run(['totp', 'enroll', 'usr_2'])
  assert.match(out, /^provisioning_uri {2}otpauth:\/\/totp\/x\nsecret {12}ABCDEFGHIJ\n/)
  assert.match(err, /ABCD EFGH IJ/)
  assert.match(err, /holdfast totp verify usr_2\n/)
  const own = await run(['totp', 'enroll', '--json'], { stdin: 'the own password\n' })
  assert.deepEqual(JSON.parse(own.out), body)
  assert.deepEqual(asked.at(-1)?.body, { current_password: 'the own password' })
})
