import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { encodeId } from '../../src/kernel/ids.ts'
import { enroll, newSession, report, withGateway } from '../support/actors/gateways.ts'
import { startKit } from '../support/deployment/deployment.ts'

test('thousands of devices begin at once, before the database knows how many sessions there are', async (t) => {
  const kit = await startKit(t)
  const { client } = await withGateway(kit)
  const { id } = await enroll(kit, 'laptop')
  const owner = new pg.Client({ connectionString: kit.databaseUrl })
  await owner.connect()
  const { rows } = await owner.query<{ device_id: string }>(
    `insert into devices (tenant_id, device_id, name, platform, status, address_number, credential_expires_at,
        credential_renew_after, enrolled_method, token_id, enrolled_at)
      select tenant_id, gen_random_uuid(), 'many-' || i, 'linux', 'active', 1000 + i, credential_expires_at,
        credential_renew_after, enrolled_method, token_id, enrolled_at
      from devices, generate_series(1, 4000) as i where name = 'laptop' returning device_id`,
  )
  await owner.query('analyze devices')
  await owner.end()
  const devices = [id, ...rows.map((r) => encodeId('device', r.device_id))]
  for (let at = 0; at < 4000; at += 500) {
    const samples = devices.slice(at, at + 500).map((device_id) => ({
      session_id: newSession(),
      device_id,
      state: 'active',
      rx_bytes: 1,
      tx_bytes: 1,
    }))
    // A report has two seconds for a statement.
    const { accepted } = await client.metering({ body: report(samples) })
    assert.equal(accepted, 500)
  }
})
