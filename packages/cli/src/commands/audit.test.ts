import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer, startShell } from '../../test/support/shell.ts'

const event = (seq: number) => ({
  event_id: `evt_${seq}`,
  seq,
  timestamp: '2030-01-31T08:00:00.000Z',
  kind: 'login.failed',
  outcome: 'refused',
  actor: { type: 'user', id: 'usr_1', name: 'jane' },
  target: null,
  source_ip: '192.0.2.7',
  origin: 'api',
})
const environment = (url: string) => ({ HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })

test('every filter is an option, and a list goes on over empty pages until the last one', async (t) => {
  const pages = [
    { items: [event(3)], next_cursor: 'a' },
    { items: [], next_cursor: 'b' },
    { items: [event(1)], next_cursor: null },
  ]
  const { url, asked } = await startServer(t, () => ({ body: pages.shift() }))
  const { run } = await startShell(t, environment(url))
  const options =
    '--kind login.* --actor usr_1 --actor-type user --target dev_1 --target-type device --source-ip 192.0.2.7 ' +
    '--outcome refused --origin api --from 2030-01-31T00:00:00Z --to 2030-02-01T00:00:00Z --request r1 --search jan --text needle'
  const { code, out } = await run(['audit', 'list', '--json', ...options.split(' ')])
  assert.equal(code, 0)
  assert.deepEqual(
    out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).seq),
    [3, 1],
  )
  const query = new URLSearchParams(asked[0]?.line.split('?')[1])
  assert.deepEqual(Object.fromEntries(query), {
    kind: 'login.*',
    actor_id: 'usr_1',
    actor_type: 'user',
    target_id: 'dev_1',
    target_type: 'device',
    source_ip: '192.0.2.7',
    outcome: 'refused',
    origin: 'api',
    from: '2030-01-31T00:00:00.000Z',
    to: '2030-02-01T00:00:00.000Z',
    request_id: 'r1',
    q: 'jan',
    text: 'needle',
    limit: '100',
  })
})

test('a deleted user is found by name in the log, among the sessions that bear it', async (t) => {
  const target = (type: string, id: string) => ({ ...event(1), target: { type, id, name: 'anna' } })
  const inLog = [target('admin_session', 'ses_1'), target('user', 'usr_7'), target('session', 'usr_7')]
  const { url, asked } = await startServer(t, ({ line }) => ({
    body: { items: line.startsWith('GET /v1/audit/events?') ? inLog : [], next_cursor: null },
  }))
  const { run } = await startShell(t, environment(url))
  assert.equal((await run(['audit', 'list', '--target', 'anna'])).code, 0)
  assert.match(asked.at(-1)?.line ?? '', /target_id=usr_7/)
  inLog.splice(1, 2)
  assert.equal((await run(['audit', 'list', '--target', 'anna'])).code, 0)
  assert.match(asked.at(-1)?.line ?? '', /target_id=ses_1/)
})

test('a histogram is a bar for each of its parts', async (t) => {
  const from = '2030-01-31T00:00:00.000Z'
  const buckets = [0, 1, 40].map((count) => ({ from, count }))
  const { url, asked } = await startServer(t, () => ({ body: { from, to: from, estimated: true, buckets } }))
  const { run } = await startShell(t, environment(url))
  const { out, err } = await run(['audit', 'histogram', '--buckets', '3'])
  assert.deepEqual(
    out
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line) => line.slice(from.length).trim()),
    ['0', '1       #', `40      ${'#'.repeat(40)}`],
  )
  assert.match(err, /estimates/)
  assert.equal(asked[0]?.line, 'GET /v1/audit/histogram?buckets=3')
})

test('who follows sees each event once, and is told where to go on', async (t) => {
  let last = 2
  const { url, asked } = await startServer(t, ({ line }) => {
    const query = new URLSearchParams(line.split('?')[1])
    if (query.get('sort') === '-seq') {
      if (last === 4) return { status: 401, body: { error: 'unauthorized', detail: 'no', request_id: 'r' } }
      return { body: { items: [event(last)], next_cursor: null } }
    }
    last++
    const after = Number(query.get('after_seq'))
    return { body: { items: [event(after + 1)], next_cursor: null } }
  })
  const { run } = await startShell(t, environment(url))
  const { out, err, code } = await run(['audit', 'follow', '--after', '1', '--outcome', 'refused', '--json'])
  assert.notEqual(code, 0)
  assert.deepEqual(
    out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).seq),
    [2, 3],
  )
  assert.match(err, /--after 3/)
  assert.equal(asked[1]?.line, 'GET /v1/audit/events?outcome=refused&sort=seq&after_seq=1&limit=200')
})

test('who follows and is cut off in a later page goes on behind what was printed', async (t) => {
  const { url } = await startServer(t, ({ line }) => {
    const query = new URLSearchParams(line.split('?')[1])
    if (query.get('sort') === '-seq') return { body: { items: [event(9)], next_cursor: null } }
    if (!query.has('cursor')) return { body: { items: [event(2), event(5)], next_cursor: 'a' } }
    return { status: 401, body: { error: 'unauthorized', detail: 'no', request_id: 'r' } }
  })
  const { run } = await startShell(t, environment(url))
  const { err, code } = await run(['audit', 'follow', '--after', '1', '--json'])
  assert.notEqual(code, 0)
  assert.match(err, /--after 5\./)
})
