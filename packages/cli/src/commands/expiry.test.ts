import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer, startShell } from '../../test/support/shell.ts'

const key = {
  type: 'api_key',
  id: 'key_1',
  name: 'ci',
  since: '2026-01-01T00:00:00.000Z',
  expires_at: '2026-01-11T00:00:00.000Z',
  days_left: 9,
  status: 'warning',
  renews_itself: false,
}
const summary = { expired: 0, critical: 0, warning: 1, ok: 0, spcs: [] }

test('what runs out is a table, or one object a line; a check says by its exit code whether anything is due', async (t) => {
  let items = [key]
  const { url, asked } = await startServer(t, () => ({ body: { items, next_cursor: null, summary } }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const expiry = (line: string) => run(['expiry', ...line.split(' ')])

  const listed = await expiry('list --type api_key --within 36h')
  assert.equal(listed.code, 0)
  assert.match(listed.out, /^TYPE .*\napi_key +key_1 +ci +2026-01-11T00:00:00.000Z +9 +warning +no\n$/)
  assert.deepEqual(JSON.parse((await expiry('list --json')).out), key)

  const due = await expiry('check --within 14d')
  assert.deepEqual([due.code, due.out.includes('key_1')], [1, true])
  assert.deepEqual(JSON.parse((await expiry('check --json')).out), key)
  items = []
  const none = await expiry('check')
  assert.deepEqual([none.code, none.out], [0, ''])
  assert.equal((await expiry('check --within soon')).code, 2)

  assert.deepEqual(
    asked.map(({ line }) => line.replace('GET /v1/admin/certs/expiry?', '')),
    [
      'type=api_key&within_days=2&limit=100',
      'limit=100',
      ...[14, 30, 30].map((days) => `renews_itself=false&within_days=${days}&limit=100`),
    ],
  )
})

test('a server that is not there is neither', async (t) => {
  const { run } = await startShell(t, { HOLDFAST_URL: 'http://127.0.0.1:1', HOLDFAST_API_KEY: 'hfk_x' })
  assert.equal((await run(['expiry', 'check'])).code, 3)
})
