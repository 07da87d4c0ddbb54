import { changeRetention } from '@holdfast/sdk'
import type { Kit } from '../deployment/deployment.ts'
import { ageRecord, connectOwner, forget, settle } from './retention.ts'
import { withClient } from './test-database.ts'

/** Adds this number of events to the audit log of the kit's tenant. All have their sequence numbers on return. */
export const fillRecord = (kit: Pick<Kit, 'databaseUrl' | 'tenant'>, count: number): Promise<void> =>
  withClient(kit.databaseUrl, async (client) => {
    await client.query(
      `insert into audit_arrivals (tenant_id, event_id, at, kind, outcome, actor_id, actor_name,
         source_ip, request_id, record)
       select $1::uuid, id, now(), 'api_key.used', 'success', 'key_' || i, 'Zoë "' || i, '192.0.2.1', 'req_' || i,
         canonical_json(jsonb_build_object('event_id', type_id('evt', id), 'tenant_id', type_id('tnt', $1::uuid),
           'kind', 'api_key.used', 'timestamp', to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
           'outcome', 'success', 'actor', jsonb_build_object('type', 'api_key', 'id', 'key_' || i, 'name', 'Zoë "' || i),
           'target', null, 'source_ip', '192.0.2.1', 'user_agent', E'a\\\\b\\n', 'request_id', 'req_' || i, 'origin', 'api'))
       from generate_series(1, $2::integer) as i, lateral (select gen_random_uuid() as id where i > 0) as made`,
      [kit.tenant, count],
    )
    await client.query(`select set_config('holdfast.tenant', $1, false)`, [kit.tenant])
    for (;;) {
      const { rows } = await client.query<{ count: number | null }>('select sequence_audit(1000) as count')
      if (rows[0]?.count === 0) return
    }
  })

/** Purges the events up to this sequence number, as retention does. */
export async function purgeRecord(kit: Kit, upTo: number): Promise<void> {
  const owner = await connectOwner(kit)
  await ageRecord(owner, `tenant_id = '${kit.tenant}' and seq <= ${upTo}`)
  await changeRetention(kit.admin, { audit: 365 })
  await settle(owner)
  await forget(kit)
}

/** Changes the audit log as the owner of the database. Triggers are disabled unless requested. */
export const changeRecord = (
  { databaseUrl }: Pick<Kit, 'databaseUrl'>,
  ...given: (string | { triggers: true })[]
): Promise<void> =>
  withClient(databaseUrl, async (client) => {
    const changes = given.filter((change) => typeof change === 'string')
    if (changes.length === given.length) await client.query('set session_replication_role = replica')
    for (const change of changes) await client.query(change)
  })
