import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export const insertCross = (
  tx: Tx,
  tenant: TenantId,
  cross: { issuer_id: string; subject_id: string; certificate: string; not_after: Date },
  at: Date,
) =>
  tx
    .insertInto('cross_certificates')
    .values({ ...cross, tenant_id: tenant, created_at: at })
    .execute()

/** Across tenants: active issuing CAs, oldest first. */
export const activeIssuing = (tx: Tx, madeBefore: Date): Promise<{ tenant_id: TenantId }[]> =>
  tx
    .selectFrom('signing_keys')
    .select('tenant_id')
    .where('purpose', '=', 'ca-issuing')
    .where('state', '=', 'active')
    .where('created_at', '<=', madeBefore)
    .orderBy('created_at')
    .limit(10_000)
    .execute()
