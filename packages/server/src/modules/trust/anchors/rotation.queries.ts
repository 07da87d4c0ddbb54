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
