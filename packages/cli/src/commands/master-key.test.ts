import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer, startShell } from '../../test/support/shell.ts'

const key = {
  key_id: 'a'.repeat(16),
  version: 1,
  line: 2,
  reading: 2,
  writing: 0,
  sealed: 0,
  digests: 0,
  counted_at: '2030-01-01T00:00:00.000Z',
  needed: false,
  unused_since: '2030-01-01T00:00:00.000Z',
  removable: true,
}
const items = [
  key,
  {
    ...key,
    key_id: 'b'.repeat(16),
    line: 1,
    writing: 2,
    sealed: 12,
    needed: true,
    unused_since: null,
    removable: false,
  },
  { ...key, key_id: 'c'.repeat(16), reading: 1, sealed: 3, needed: true, unused_since: null, removable: false },
  { ...key, key_id: 'd'.repeat(16), removable: false },
  { ...key, key_id: 'e'.repeat(16), line: null, reading: 0 },
  { ...key, key_id: 'f'.repeat(16), line: 3, sealed: null, digests: null, unused_since: null },
]

test('of each master key is said where it stands, and whether its line may go', async (t) => {
  const { url, asked } = await startServer(t, () => ({ body: { replicas: 2, items } }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const { code, out, err } = await run(['master-key', 'status'])
  assert.deepEqual([code, err], [0, 'Replicas that run: 2.\n'])
  assert.equal(asked[0]?.line, 'GET /v1/admin/master-keys')
  const [head, ...lines] = out.trimEnd().split('\n')
  assert.match(head!, /^KEY +LINE +READING +WRITING +SEALED +DIGESTS +COUNTED +STATE$/)
  assert.match(lines[1]!, /^b{16} +1 +2 +2 +12 +0 +2030-01-01T00:00:00\.000Z +in use$/)
  assert.deepEqual(
    lines.map((line) => line.split('  ').at(-1)?.trim()),
    ['may be removed', 'in use', 'needed', 'unused; removable soon', 'removed', 'not used yet'],
  )
  assert.deepEqual(JSON.parse((await run(['master-key', 'status', '--json'])).out), { replicas: 2, items })
})
