import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Asked, startServer, startShell } from '../../test/support/shell.ts'

const connector = (next_seq: number | null) => ({ connector_id: 'sie_1', name: 'soc', delivery: { next_seq } })
const event = { event_id: 'evt_1', seq: 7, kind: 'login.failed', timestamp: '2026-01-01', actor: { name: "o'hara" } }

test('the event that a connector stands on is shown and set aside once somebody is sure', async (t) => {
  let next: number | null = 7
  const answer = ({ line }: Asked) => {
    if (line.startsWith('GET /v1/audit/events?')) return { body: { items: [event], next_cursor: null } }
    if (line.startsWith('GET ')) return { body: connector(next) }
    return { body: { connector: connector(null), changed: true } }
  }
  const { url, asked } = await startServer(t, answer)
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const unsure = await run(['siem', 'set-aside', 'sie_1'])
  assert.equal(unsure.code, 2)
  assert.match(unsure.err, /Set aside evt_1 at 7, login\.failed of 2026-01-01 by o'hara\? Add --yes/)
  assert.ok(!asked.some(({ line }) => line.startsWith('POST ')))

  assert.equal((await run(['siem', 'set-aside', 'sie_1', '--yes'])).code, 0)
  assert.equal(asked.at(-1)?.line, 'POST /v1/admin/siem/connector/sie_1/set-aside')
  assert.deepEqual(asked.at(-1)?.body, { seq: 7 })
  await run(['siem', 'set-aside', 'sie_1', '--seq', '9', '--yes'])
  assert.deepEqual(asked.at(-1)?.body, { seq: 9 })
  next = null
  assert.equal((await run(['siem', 'set-aside', 'sie_1', '--yes'])).code, 2)
})
