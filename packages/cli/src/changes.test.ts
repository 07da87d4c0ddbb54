import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer, startShell } from '../test/support/shell.ts'

test('what is changed about a user or a device is sent, and what is taken away as empty', async (t) => {
  const { url, asked } = await startServer(t, () => ({
    body: { changed: true, user: { user_id: 'usr_2' }, device: { device_id: 'dev_1' } },
  }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  for (const args of [
    ['user', 'update', 'usr_2', '--display-name', 'Anna', '--no-email', '--no-group', '--reason', 'asked'],
    ['user', 'update', 'usr_2', '--email', 'a@example.com', '--group', 'grp_1', 'grp_2'],
    ['device', 'update', 'dev_1', '--no-user', '--no-tag'],
    ['device', 'update', 'dev_1', '--name', 'x', '--tag', 'a', 'b', '--channel', 'auto', '--user', 'usr_2'],
  ]) {
    const { code, err } = await run(args)
    assert.equal(code, 0, err)
  }
  const user = { operation: 'update', user_id: 'usr_2' }
  const device = { operation: 'update', device_id: 'dev_1' }
  assert.deepEqual(
    asked.map(({ body }) => body),
    [
      { ...user, user: { email: null, display_name: 'Anna', group_ids: [] }, reason: 'asked' },
      { ...user, user: { email: 'a@example.com', group_ids: ['grp_1', 'grp_2'] } },
      { ...device, device: { tags: [], user_id: null } },
      { ...device, device: { name: 'x', channel: 'auto', tags: ['a', 'b'], user_id: 'usr_2' } },
    ],
  )
  for (const args of [
    ['user', 'update', 'usr_2'],
    ['device', 'update', 'dev_1', '--reason', 'none'],
  ])
    assert.equal((await run(args)).code, 2, args.join(' '))
})

test('each move of a user goes its own way, a line for each user', async (t) => {
  const user = { user_id: 'usr_2', status: 'active', locked_until: null }
  const { url, asked } = await startServer(t, ({ line }) => ({
    body: { user, changed: true, ...(line.endsWith('/suspend') && { sessions_terminated: 1 }) },
  }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  assert.equal((await run(['user', 'suspend', 'usr_2'])).out, 'usr_2  active, 1 session ended\n')
  await run(['user', 'reactivate', 'usr_2'])
  await run(['user', 'unlock', 'usr_2', 'usr_2'])
  assert.equal((await run(['user', 'delete', 'usr_2'])).code, 2)
  assert.equal((await run(['user', 'delete', 'usr_2', '--yes', '--reason', 'left'])).out, 'usr_2  deleted\n')
  assert.deepEqual(
    asked.map(({ line }) => line.replace('POST /v1/admin/users/', '')),
    ['suspend', 'reactivate', 'unlock', 'unlock', 'lifecycle'],
  )
  assert.deepEqual(asked.at(-1)?.body, { operation: 'delete', user_id: 'usr_2', reason: 'left' })
})

test('settings are shown as they are set', async (t) => {
  const settings = { sessions: { idle_seconds: 900 }, mfa: { required_roles: ['operator'], step_up: false } }
  const { url, asked } = await startServer(t, () => ({ body: settings }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const shown = await run(['settings', 'security'])
  assert.equal((await run(['settings', 'security', 'show'])).out, shown.out)
  assert.match(shown.out, /^sessions\.idle_seconds +900\nmfa\.required_roles +operator\nmfa\.step_up +false\n$/)
  const fields = ['sessions.idle_seconds=900', 'mfa.required_roles=operator', 'mfa.step_up=false']
  assert.equal((await run(['settings', 'security', 'set', ...fields])).code, 0)
  assert.equal(asked.at(-1)?.line, 'PUT /v1/admin/settings/security')
  assert.deepEqual(asked.at(-1)?.body, settings)
  assert.equal((await run(['settings', 'security', 'set', 'mfa.nonsense=1'])).code, 2)
})

test('a test message that fails is an answer of no', async (t) => {
  const result = { channel: 'webhook', recipient: null, ok: true, error: null }
  const failed = { channel: 'email', recipient: 'a@example.com', ok: false, error: 'It was refused.' }
  const { url } = await startServer(t, () => ({ body: { results } }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  let results: object[] = [result]
  assert.equal((await run(['settings', 'notifications', 'test'])).code, 0)
  results = [result, failed]
  const { code, out } = await run(['settings', 'notifications', 'test'])
  assert.equal(code, 1)
  assert.match(out, /a@example\.com +no +It was refused\./)
})

test('what a session has carried by resource is shown a line each', async (t) => {
  const session = {
    session_id: 'vse_1',
    rx_bytes: 9,
    resources: [
      { resource: 'wiki', rx_bytes: 5, tx_bytes: 7 },
      { resource: 'git', rx_bytes: 1, tx_bytes: 0 },
    ],
  }
  const { url } = await startServer(t, () => ({ body: session }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const lines = ['session_id', 'rx_bytes', 'wiki.rx_bytes', 'wiki.tx_bytes', 'git.rx_bytes', 'git.tx_bytes']
  const { out } = await run(['session', 'show', 'vse_1'])
  assert.deepEqual(
    out.split('\n').map((line) => line.replace(/^resources\./, '').split(/ +/)[0]),
    [...lines, ''],
  )
  assert.match(out, /^resources\.wiki\.tx_bytes +7$/m)
  assert.deepEqual(JSON.parse((await run(['session', 'show', 'vse_1', '--json'])).out), session)
})
