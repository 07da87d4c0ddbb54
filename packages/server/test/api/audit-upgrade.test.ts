import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalJson } from '@holdfast/crypto'
import { uuidv7 } from 'uuidv7'
import { migrate } from '../../src/db/migrate.ts'
import { encodeId } from '../../src/kernel/ids.ts'
import { migrateBefore } from '../support/database/older-schema.ts'
import { createTestDatabase, withClient } from '../support/database/test-database.ts'

test('what was on record before there were places gets them in the order of its time, and loses nothing', async (t) => {
  const database = await createTestDatabase()
  t.after(() => database.drop())
  const [first, second] = [uuidv7(), uuidv7()]
  const fields = { 'b.2': 1, a: [1, { z: null, y: 'é\u0001"\\' }], ü: true }
  await withClient(database.url, async (client) => {
    await migrateBefore(client, 'audit_sequence')
    await client.query(`call ensure_partitions('2026-03-15'); call ensure_partitions('2026-10-15')`)
    for (const [tenant, at] of [
      [first, '2026-10-02T08:00:00.123Z'],
      [second, '2026-10-01T00:00:00Z'],
      [first, '2026-03-01T23:59:59.999Z'],
    ])
      await client.query(
        `insert into audit_events (tenant_id, event_id, at, kind, outcome, actor_type, actor_id, actor_name, origin, fields, changes)
         values ($1, $2, $3, 'user.changed', 'success', 'user', 'usr_1', 'Zoë', 'api', $4, $5)`,
        [tenant, uuidv7(), at, JSON.stringify(fields), JSON.stringify({ name: [null, { x: null }] })],
      )
  })

  assert.deepEqual((await migrate(database.url)).applied.slice(0, 1), ['0045_audit_sequence.sql'])

  await withClient(database.url, async (client) => {
    const counts: number[] = []
    for (const tenant of [first, second]) {
      await client.query(`select set_config('holdfast.tenant', $1, false)`, [tenant])
      const { rows } = await client.query<{ count: number }>('select sequence_audit(100) as count')
      counts.push(rows[0]!.count)
    }
    assert.deepEqual(counts, [2, 1])
    const { rows } = await client.query<{ at: Date; seq: string; record: string; event_id: string }>(
      'select at, seq, record, event_id from audit_log where tenant_id = $1 order by seq',
      [first],
    )
    assert.deepEqual(
      rows.map((r) => [r.seq, r.at.toISOString()]),
      [
        ['1', '2026-03-01T23:59:59.999Z'],
        ['2', '2026-10-02T08:00:00.123Z'],
      ],
    )
    for (const { record, at, event_id } of rows) {
      assert.equal(record, canonicalJson(JSON.parse(record)), 'as RFC 8785 writes it')
      assert.deepEqual(JSON.parse(record), {
        ...fields,
        event_id: encodeId('audit_event', event_id),
        tenant_id: encodeId('tenant', first),
        kind: 'user.changed',
        timestamp: at.toISOString(),
        outcome: 'success',
        origin: 'api',
        actor: { type: 'user', id: 'usr_1', name: 'Zoë' },
        target: null,
        source_ip: null,
        user_agent: null,
        request_id: null,
        changes: { name: [null, { x: null }] },
      })
    }
    assert.equal((await client.query('select from audit_arrivals')).rowCount, 0)
    assert.equal((await client.query(`select to_regclass('audit_events_before') as gone`)).rows[0].gone, null)
  })
})
