import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { PostureVerdict, Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export { shareVerdicts } from './posture.queries.ts'

type StoredReport = Pick<Selectable<Tables['device_postures']>, 'device_id' | 'facts' | 'reported_at' | 'verdict'> & {
  newest_policy: number
}

/** Reads and locks the stored reports of these devices, with the version of the newest policy. */
export const lockReports = async (tx: Tx, tenant: TenantId, ids: readonly string[]): Promise<StoredReport[]> =>
  (
    await sql<StoredReport>`
      select p.device_id, p.facts, p.reported_at, p.verdict,
        (select e.policy_version from tenant_epochs e where e.tenant_id = ${tenant}) as newest_policy
      from device_postures p where p.tenant_id = ${tenant} and p.device_id = any(${[...ids]}::uuid[])
      order by p.device_id for no key update of p`.execute(tx)
  ).rows

/** Replaces stored verdicts. The caller holds the rows. */
export const setVerdicts = (
  tx: Tx,
  tenant: TenantId,
  turned: readonly { device_id: string; verdict: PostureVerdict }[],
) =>
  sql`
    update device_postures p set verdict = t.verdict
    from unnest(${turned.map((row) => row.device_id)}::uuid[], ${turned.map((row) => row.verdict)}::text[])
      as t (device_id, verdict)
    where p.tenant_id = ${tenant} and p.device_id = t.device_id`.execute(tx)

/** True if a stored verdict of the tenant is compliant or non-compliant. */
export const isAnyVerdictKnown = async (tx: Tx, tenant: TenantId): Promise<boolean> => {
  const row = await tx
    .selectFrom('device_postures')
    .select('device_id')
    .where('tenant_id', '=', tenant)
    .where('verdict', 'in', ['compliant', 'non_compliant'])
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
