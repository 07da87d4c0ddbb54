import type { Selectable } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

type PostureRow = Omit<Selectable<Tables['device_postures']>, 'tenant_id' | 'facts'> & { facts: object }

/** Stores a report; the answer holds what was there before. */
export const putPosture = async (tx: Tx, tenant: TenantId, row: PostureRow) => {
  const before = await tx
    .selectFrom('device_postures')
    .select(['facts_digest', 'verdict'])
    .where('tenant_id', '=', tenant)
    .where('device_id', '=', row.device_id)
    .forUpdate()
    .executeTakeFirst()
  const { device_id, ...values } = { ...row, facts: JSON.stringify(row.facts) }
  await tx
    .insertInto('device_postures')
    .values({ ...values, device_id, tenant_id: tenant })
    .onConflict((c) => c.columns(['tenant_id', 'device_id']).doUpdateSet(values))
    .execute()
  return before
}
