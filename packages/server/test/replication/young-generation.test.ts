// Own process: it measures the heap of its process.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getHeapSpaceStatistics } from 'node:v8'
import { sql } from 'kysely'
import { startKit } from '../support/deployment/deployment.ts'

const oldMegabytes = () =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')!.space_used_size / 2 ** 20

test('pages read from the database are freed by the next young-generation collection', async (t) => {
  const kit = await startKit(t)
  const readPage = () =>
    kit.db.inTenant(kit.tenant, (tx) =>
      sql<{ text: string }>`select repeat('page', 128) || i as text from generate_series(1, 500) as i`.execute(tx),
    )
  for (let i = 0; i < 20; i++) await readPage()
  let grown = 0
  let before = oldMegabytes()
  // 50 MB in all.
  for (let i = 0; i < 200; i++) {
    assert.equal((await readPage()).rows.length, 500)
    const now = oldMegabytes()
    grown += Math.max(0, now - before)
    before = now
  }
  t.diagnostic(`${grown.toFixed(1)} MB`)
  assert.ok(grown < 20, `${grown.toFixed(1)} MB came among what is old`)
})
