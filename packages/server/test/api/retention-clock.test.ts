import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fence } from '../../src/backup/fence.ts'
import { withConnection } from '../../src/db/connection.ts'
import { connectOwner, forget } from '../support/database/retention.ts'
import { startKit, times } from '../support/deployment/deployment.ts'

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

test('that the clock is not trusted is told once, and closed once it is', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const owner = await connectOwner(kit)
  const notices = async () =>
    (await kit.admin.listNotifications({ query: { state: 'all' } })).items
      .filter((n) => n.kind === 'clock.untrusted')
      .map((n) => n.acknowledged_by?.type ?? 'open')
  await owner.query(
    `insert into retention_clock (seen_at, trusted_from) values (now() - interval '5 days', '-infinity')`,
  )
  await times(6, (i) => forget(kit, i % 2))
  assert.deepEqual(await notices(), ['open'])
  await owner.query(`update retention_clock set trusted_from = now()`)
  await times(2, (i) => forget(kit, i))
  assert.deepEqual(await notices(), ['system'])
})
