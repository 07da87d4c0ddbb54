import { canonicalJson } from '@holdfast/crypto'
import { changeRetention } from '@holdfast/sdk'
import { encodeId } from '../../../src/kernel/ids.ts'
import type { Kit } from '../deployment/deployment.ts'
import { endWaitingPeriods, runRetention } from '../domain/retention.ts'
import { ageAuditLog } from './aged-rows.ts'
import { connectOwner } from './owner-connection.ts'
import { withClient } from './test-database.ts'

/** Adds this number of events to the audit log of the kit's tenant. All have their sequence numbers on return. */
export const fillAuditLog = (kit: Pick<Kit, 'databaseUrl' | 'tenant'>, count: number): Promise<void> =>
  withClient(kit.databaseUrl, async (client) => {
    const at = new Date()
    const ids = Array.from({ length: count }, () => crypto.randomUUID())
    const records = ids.map((id, i) => recordOf(kit.tenant, id, at, i + 1))
    await client.query(
      `insert into audit_arrivals (tenant_id, event_id, at, kind, outcome, actor_id, actor_name,
         source_ip, request_id, record)
       select $1::uuid, id, $2, 'api_key.used', 'success', 'key_' || i, 'Zoë "' || i, '192.0.2.1', 'req_' || i, record
       from unnest($3::uuid[], $4::text[]) with ordinality as made (id, record, i)`,
      [kit.tenant, at, ids, records],
    )
    await client.query(`select set_config('holdfast.tenant', $1, false)`, [kit.tenant])
    for (;;) {
      const { rows } = await client.query<{ count: number | null }>('select sequence_audit(1000) as count')
      if (rows[0]?.count === 0) return
    }
  })

const recordOf = (tenant: string, id: string, at: Date, i: number) =>
  canonicalJson({
    event_id: encodeId('audit_event', id),
    tenant_id: encodeId('tenant', tenant),
    kind: 'api_key.used',
    timestamp: at.toISOString(),
    outcome: 'success',
    actor: { type: 'api_key', id: `key_${i}`, name: `Zoë "${i}` },
    target: null,
    source_ip: '192.0.2.1',
    user_agent: 'a\\b\n',
    request_id: `req_${i}`,
    origin: 'api',
  })

/** Purges the events up to this sequence number, as retention does. */
export async function purgeAuditLog(kit: Kit, upTo: number): Promise<void> {
  const owner = await connectOwner(kit)
  await ageAuditLog(owner, `tenant_id = '${kit.tenant}' and seq <= ${upTo}`)
  await changeRetention(kit.admin, { audit: 365 })
  await endWaitingPeriods(owner)
  await runRetention(kit)
}

/** Changes the audit log as the owner of the database. Triggers are disabled unless requested. */
export const changeAuditLog = (
  { databaseUrl }: Pick<Kit, 'databaseUrl'>,
  ...given: (string | { triggers: true })[]
): Promise<void> =>
  withClient(databaseUrl, async (client) => {
    const changes = given.filter((change) => typeof change === 'string')
    if (changes.length === given.length) await client.query('set session_replication_role = replica')
    for (const change of changes) await client.query(change)
  })
