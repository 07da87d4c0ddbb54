import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fence } from '../../src/backup/fence.ts'
import { withConnection } from '../../src/db/connection.ts'
import { startKit } from '../kit.ts'
import { connectOwner } from '../retention.ts'

test('what waits for a week after a restore waits no shorter since a clock is off, and never for more than a month', async (t) => {
  const kit = await startKit(t)
  const owner = await connectOwner(kit)
  await withConnection(kit.databaseUrl, async (connection) => {
    await connection.query('begin')
    await fence(connection, { job: 'fence' })
    await connection.query('commit')
  })
  const daysAfter = async (asked: string) => {
    const { rows } = await owner.query<{ days: number }>(
      `select round(extract(epoch from check_clock(${asked}) - now()) / 86400)::int as days`,
    )
    return rows[0]?.days
  }
  assert.equal(await daysAfter('now()'), 7)
  assert.equal(await daysAfter(`now() + interval '11 minutes'`), 7, 'a replica has another time')
  await owner.query(`update retention_clock set seen_at = now() - interval '5 days'`)
  assert.equal(await daysAfter('now()'), 7, 'the clock leapt')
  await owner.query(`update retention_clock set seen_at = now() - interval '12 days'`)
  assert.equal(await daysAfter('now()'), 12, 'for as long as it leapt')
  await owner.query(`update retention_clock set trusted_from = now() + interval '50 years'`)
  assert.equal(await daysAfter(`now() - interval '11 minutes'`), 30)
})
