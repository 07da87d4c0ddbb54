import { type SqlBool, sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import type { CanaryHealth, GateTerms } from '../../../db/tables/policy.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** The gate of the canary under way, if it is still judged. */
export type OpenGate = {
  bundle_id: string
  version: number
  published_at: Date
  terms: GateTerms
  state: 'watching' | 'passed'
  looks: number
  health: CanaryHealth | null
  /** Minutes since the publication, by the database's clock. */
  minutes: number
}

/** Matches the canary that is under way: no later version on stable has ended it. */
const isUnderWay = (tenant: TenantId) => sql<SqlBool>`
  version = (select canary.version from policy_channels canary
    where canary.tenant_id = ${tenant} and canary.channel = 'canary')
  and version > coalesce((select stable.version from policy_channels stable
    where stable.tenant_id = ${tenant} and stable.channel = 'stable'), 0)`

/** Across tenants: tenants whose canary has a gate that is still judged. */
export const tenantsWithGates = async (tx: Tx): Promise<TenantId[]> =>
  (
    await sql<{ tenant_id: TenantId }>`
      select b.tenant_id from policy_bundles b
      join tenants t on t.tenant_id = b.tenant_id and t.status <> 'deleting'
      join policy_channels c on c.tenant_id = b.tenant_id and c.channel = 'canary' and c.version = b.version
      left join policy_channels s on s.tenant_id = b.tenant_id and s.channel = 'stable'
      where b.gate_state in ('watching', 'passed') and b.version > coalesce(s.version, 0) order by 1`.execute(tx)
  ).rows.map((r) => r.tenant_id)

export const openGate = (tx: Tx, tenant: TenantId): Promise<OpenGate | undefined> =>
  tx
    .selectFrom('policy_bundles')
    .select(['bundle_id', 'version', 'published_at'])
    .select([
      sql<GateTerms>`gate_terms`.as('terms'),
      sql<OpenGate['state']>`gate_state`.as('state'),
      'gate_looks as looks',
      sql<CanaryHealth | null>`gate_health`.as('health'),
      sql<number>`extract(epoch from clock_timestamp() - published_at)::float8 / 60`.as('minutes'),
    ])
    .where('tenant_id', '=', tenant)
    .where('gate_state', 'in', ['watching', 'passed'])
    .where(isUnderWay(tenant))
    .executeTakeFirst()

/** Returns the last version with this content that was on stable, or was a canary with a gate. */
export const lastTried = (tx: Tx, tenant: TenantId, digest: string) =>
  tx
    .selectFrom('policy_bundles')
    .select(['version', 'gate_state', 'gate_reason'])
    .where('tenant_id', '=', tenant)
    .where('digest', '=', digest)
    .where((eb) => eb.or([eb('channel', '=', 'stable'), eb('gate_state', 'is not', null)]))
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst()

type Judged = {
  state: 'watching' | 'passed' | 'failed' | 'rolled_back'
  reason: string
  looks: number
  health: CanaryHealth
}
/** False if the canary has ended, or if another replica has judged it in the meantime. */
export const setGate = (tx: Tx, tenant: TenantId, from: OpenGate, to: Judged): Promise<boolean> =>
  affectedRow(
    tx
      .updateTable('policy_bundles')
      .set({
        gate_state: to.state,
        gate_reason: to.reason,
        gate_looks: to.looks,
        gate_health: JSON.stringify(to.health),
        gate_judged_at: sql<Date>`clock_timestamp()`,
      })
      .where('tenant_id', '=', tenant)
      .where('version', '=', from.version)
      .where('gate_state', '=', from.state)
      .where('gate_looks', '=', from.looks)
      .where(isUnderWay(tenant))
      .returning('version'),
  )

/** Locks out other publishes until commit. */
export const holdVersions = (tx: Tx, tenant: TenantId) =>
  tx.selectFrom('tenant_epochs').select('policy_version').where('tenant_id', '=', tenant).forNoKeyUpdate().execute()
