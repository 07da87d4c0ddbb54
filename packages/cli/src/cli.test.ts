import assert from 'node:assert/strict'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { walkHelp } from '../test/support/help-walk.ts'
import { type Answered, type Asked, login, person, startServer, startShell } from '../test/support/shell.ts'

const device = (n: number, name = `laptop-${n}`) => ({
  device_id: `dev_${n}`,
  name,
  platform: 'linux',
  status: 'active',
  posture: { verdict: 'compliant' },
  addresses: { ipv4: `100.64.0.${n}`, ipv6: null },
  last_seen_at: null,
})

/** Lists a fleet of 450 devices, in pages. */
const fleet = ({ line }: Asked): Answered => {
  const query = new URL(line.split(' ')[1] ?? '', 'http://x').searchParams
  const from = Number(query.get('cursor') ?? 0)
  const to = Math.min(from + Number(query.get('limit')), 450)
  const items = Array.from({ length: to - from }, (_, n) => device(from + n))
  return { body: { items, next_cursor: to < 450 ? String(to) : null } }
}

test('a list is an aligned table with whole ids, paged up to the limit', async (t) => {
  const { url, asked } = await startServer(t, fleet)
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const { code, out, err } = await run(['device', 'list', '--limit', '250', '--status', 'active'])
  assert.equal(code, 0)
  const lines = out.trimEnd().split('\n')
  assert.equal(lines.length, 251)
  assert.match(lines[0] ?? '', /^DEVICE {3,}NAME {3,}/)
  const column = lines[0]?.indexOf('NAME')
  assert.ok(lines.slice(1).every((line) => line.indexOf('laptop-') === column))
  assert.match(err, /more/)
  assert.deepEqual(
    asked.map(({ line }) => line),
    ['GET /v1/admin/devices?status=active&limit=200', 'GET /v1/admin/devices?status=active&limit=50&cursor=200'],
  )
  assert.equal(asked[0]?.headers.authorization, 'Bearer hfk_x')
})

test('an audit event shows its changes, the reason of a refusal, and the fields of its kind', async (t) => {
  const common = {
    timestamp: '2030-01-31T08:00:00Z',
    actor: { type: 'user', name: 'jane' },
    target: null,
    origin: 'api',
  }
  const items = [
    { ...common, kind: 'login.failed', outcome: 'refused', username: 'jane', failure_reason: 'keycloak:signature' },
    { ...common, kind: 'user.changed', outcome: 'success', user_id: 'usr_1', changes: { status: ['active', 'held'] } },
    {
      ...common,
      kind: 'request.refused',
      outcome: 'refused',
      details: { error: 'conflict', detail: 'taken', field: 'a' },
    },
  ]
  const { url } = await startServer(t, () => ({ body: { items, next_cursor: null } }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const [head = '', ...lines] = (await run(['audit', 'list'])).out.trimEnd().split('\n')
  assert.deepEqual(
    lines.map((line) => line.slice(head.indexOf('DETAILS'))),
    ['username: jane; failure_reason: keycloak:signature', 'status: active -> held', 'conflict: taken; field: a'],
  )
})

test('headings are bold on a terminal, unless NO_COLOR is set', async (t) => {
  const { url } = await startServer(t, fleet)
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const args = ['device', 'list', '--limit', '1']
  assert.match((await run(args, { terminal: true })).out, /^\u001b\[1mDEVICE/)
  assert.match((await run(args, { terminal: true, env: { NO_COLOR: '1' } })).out, /^DEVICE/)
  assert.match((await run(args)).out, /^DEVICE/)
})

test('--json prints one object per line, before or after the command', async (t) => {
  const { url } = await startServer(t, fleet)
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  for (const args of [
    ['--json', 'device', 'list', '--limit', '3'],
    ['device', 'list', '--limit', '3', '--json'],
  ]) {
    const { out } = await run(args)
    const ids = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).device_id)
    assert.deepEqual(ids, ['dev_0', 'dev_1', 'dev_2'])
  }
})

test('an empty list prints "None." to stderr and nothing to stdout', async (t) => {
  const { url } = await startServer(t, () => ({ body: { items: [], next_cursor: null } }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  assert.deepEqual(await run(['token', 'list']), { code: 0, out: '', err: 'None.\n' })
  assert.deepEqual(await run(['token', 'list', '--json']), { code: 0, out: '', err: '' })
})

test('a name cannot send control characters to the terminal', async (t) => {
  const evil = '\u001b]0;owned\u0007\u009b2J\u202egpj\n'
  const { url } = await startServer(t, () => ({ body: { items: [device(1, evil)], next_cursor: null } }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  for (const args of [
    ['device', 'list'],
    ['device', 'list', '--json'],
  ]) {
    const { out } = await run(args)
    assert.doesNotMatch(out.replaceAll('\n', ''), /[\x00-\x1f\x7f-\x9f\u202e]/)
  }
})

test('a secret is printed alone to stdout, the explanation to stderr', async (t) => {
  const body = { secret: 'hfe_secret', enrollment_token: { token_id: 'tok_1', expires_at: '2030-01-01T00:00:00Z' } }
  const { url, asked } = await startServer(t, () => ({ status: 201, body }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const { out, err } = await run([
    'token',
    'create',
    '--name',
    'n',
    '--expires-in',
    '7d',
    '--tag',
    'a',
    'b',
    '--max-uses',
    '0',
  ])
  assert.equal(out, 'hfe_secret\n')
  assert.match(err, /only this once/)
  assert.doesNotMatch(err, /hfe_secret/)
  assert.deepEqual(asked[0]?.body, { name: 'n', max_uses: 0, expires_in_seconds: 604_800, tags: ['a', 'b'] })
})

test('a refusal prints one sentence with the request id, one line per field, and exits with 1', async (t) => {
  const { url } = await startServer(t, () => ({
    status: 422,
    body: {
      error: 'validation_error',
      detail: 'the body is not in order',
      request_id: 'r-1',
      errors: [{ field: 'username', message: 'is taken' }],
    },
  }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const { code, out, err } = await run(['user', 'create', 'anna'])
  assert.deepEqual([code, out], [1, ''])
  assert.equal(err, 'Error: the body is not in order (request r-1)\n  username: is taken\n')
})

test('exit codes are 2 for wrong use, 3 for no connection and 0 for help', async (t) => {
  const { run } = await startShell(t, { HOLDFAST_API_KEY: 'hfk_x' })
  for (const args of [
    ['device', 'list', '--status', 'lost'],
    ['device', 'show'],
    ['nonsense'],
    ['device', 'list', '--limit', '0'],
    ['device', 'list'],
    ['--url', 'not a url', 'device', 'list'],
    ['--url', 'http://127.0.0.1:1', 'session', 'terminate'],
    ['--url', 'http://127.0.0.1:1', 'device', 'revoke', 'dev_1'],
  ]) {
    const { code, err } = await run(args)
    assert.equal(code, 2, args.join(' '))
    assert.match(err, /\S/, args.join(' '))
  }
  const gone = await run(['--url', 'http://127.0.0.1:1', 'device', 'list'])
  assert.equal(gone.code, 3)
  assert.match(gone.err, /^Error: Can't reach http:\/\/127\.0\.0\.1:1: .+\.\n$/)
  for (const args of [['--help'], ['policy', 'publish', '--help'], ['help', 'device']]) {
    const { code, out } = await run(args)
    assert.equal(code, 0)
    assert.match(out, /Usage: holdfast/)
  }
})

test('login saves the session in a file of mode 0600; logout ends it and deletes the file', async (t) => {
  const { url, asked } = await startServer(t, ({ line }) =>
    line === 'POST /admin/login' ? login : { body: line === 'GET /v1/admin/me' ? person : { changed: true } },
  )
  const { run, home } = await startShell(t)
  const signedIn = await run(['login', '--url', url, '--username', 'admin'], { stdin: 'pass word\n' })
  assert.equal(signedIn.code, 0, signedIn.err)
  assert.doesNotMatch(signedIn.out + signedIn.err, /s3cret|pass word/)
  assert.deepEqual(asked[0]?.body, { username: 'admin', password: 'pass word' })
  const file = join(home, '.config', 'holdfast', 'config.json')
  if (process.platform !== 'win32') assert.equal((await stat(file)).mode & 0o777, 0o600)

  assert.match((await run(['whoami'])).out, /tnt_1/)
  assert.equal(asked.at(-1)?.headers.cookie, 'holdfast_session=s3cret')
  assert.equal((await run(['logout'])).code, 0)
  assert.equal(asked.at(-1)?.line, 'POST /admin/logout')
  assert.doesNotMatch(await readFile(file, 'utf8'), /s3cret/)
})

test('a saved session is sent to its own server only', async (t) => {
  const own = await startServer(t, () => login)
  const other = await startServer(t, () => ({ body: person }))
  const { run } = await startShell(t)
  await run(['login', '--url', own.url, '--username', 'admin'], { stdin: 'x' })
  await run(['whoami', '--url', other.url])
  await run(['whoami'], { env: { HOLDFAST_URL: other.url } })
  assert.deepEqual(
    other.asked.map(({ headers }) => headers.cookie),
    [undefined, undefined],
  )
})

test('a flag overrides the environment, and the environment the file', async (t) => {
  const { url, asked } = await startServer(t, ({ line }) => (line === 'POST /admin/login' ? login : { body: person }))
  const { run } = await startShell(t)
  await run(['login', '--url', url, '--username', 'admin'], { stdin: 'x' })
  await run(['whoami'], { env: { HOLDFAST_API_KEY: 'hfk_env' } })
  assert.equal(asked.at(-1)?.headers.authorization, 'Bearer hfk_env')
  assert.equal(asked.at(-1)?.headers.cookie, undefined)
  const flagged = await run(['whoami', '--url', url], { env: { HOLDFAST_URL: 'http://127.0.0.1:1' } })
  assert.equal(flagged.code, 0, flagged.err)
})

test('--tenant is sent with every request', async (t) => {
  const { url, asked } = await startServer(t, () => ({ body: { items: [], next_cursor: null } }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  await run(['key', 'list', '--tenant', 'tnt_b'])
  assert.equal(asked[0]?.line, 'GET /v1/admin/api-keys?tenant_id=tnt_b&limit=100')
})

test('an invalid document is printed by position and exits with 1', async (t) => {
  const body = {
    valid: false,
    errors: [{ field: 'rules[0].to', message: 'no such resource' }],
    warnings: [],
    tests: null,
    diff: null,
  }
  const { url, asked } = await startServer(t, () => ({ body }))
  const { run, home } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const file = join(home, 'policy.json')
  await writeFile(file, '{"rules":[]}')
  const { code, out } = await run(['policy', 'validate', file])
  assert.equal(code, 1)
  assert.match(out, /^rules\[0\]\.to: no such resource\n/)
  assert.deepEqual(asked[0]?.body, { policy: { rules: [] } })
  assert.equal((await run(['policy', 'validate', '-'], { stdin: '{' })).code, 2)
  assert.equal((await run(['policy', 'validate', join(home, 'none')])).code, 2)
})

test('gateways of all pools are one list with filters; a pool is found by its name', async (t) => {
  const pool_id = 'gwp_00000000000000000000000001'
  const filters = `pool_id=${pool_id}&status=down&version=1.4.0`
  const pages: Record<string, Answered> = {
    'GET /v1/admin/settings/gateway-pools?limit=200': {
      body: { items: [{ pool_id, name: 'Frankfurt' }], next_cursor: null },
    },
    'GET /v1/admin/gateways?limit=100': { body: { items: [{ gateway_id: 'gwy_1' }], next_cursor: 'c' } },
    'GET /v1/admin/gateways?limit=99&cursor=c': { body: { items: [{ gateway_id: 'gwy_2' }], next_cursor: null } },
    [`GET /v1/admin/gateways?${filters}&limit=100`]: { body: { items: [{ gateway_id: 'gwy_3' }], next_cursor: null } },
  }
  const { url } = await startServer(t, ({ line }) => pages[line] ?? { status: 404, body: { error: line } })
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const listed = async (...options: string[]) => {
    const { out, err } = await run(['gateway', 'list', '--json', ...options])
    assert.equal(err, '')
    const lines = out.trimEnd().split('\n')
    return lines.map((line) => JSON.parse(line).gateway_id)
  }
  assert.deepEqual(await listed(), ['gwy_1', 'gwy_2'])
  assert.deepEqual(await listed('--pool', 'frankfurt', '--status', 'down', '--installed', '1.4.0'), ['gwy_3'])
})

// cli.slow.test.ts walks all commands.
test('every group of commands has help, and its first command has an example', async (t) => {
  const { run } = await startShell(t)
  assert.ok((await walkHelp(run, 1)) > 10)
})
