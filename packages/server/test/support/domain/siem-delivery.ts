import type { Updateable } from 'kysely'
import type { Tables } from '../../../src/db/tables/index.ts'
import { decodeId } from '../../../src/kernel/ids.ts'
import type { Kit } from '../deployment/deployment.ts'

export const deliveryOf = async ({ admin }: Pick<Kit, 'admin'>, connector_id: string) =>
  (await admin.getSiemConnector({ params: { connector_id } })).delivery

export const streamOf = ({ db, tenant }: Pick<Kit, 'db' | 'tenant'>, connector_id: string) =>
  db.inTenant(tenant, (tx) =>
    tx
      .selectFrom('siem_streams')
      .selectAll()
      .where('tenant_id', '=', tenant)
      .where('stream_id', '=', decodeId('siem_connector', connector_id) ?? '')
      .executeTakeFirstOrThrow(),
  )

/** True if all events of this tenant have been sent. Reads the database directly, so that the check adds no event. */
export const isAllSent = ({ db, tenant }: Pick<Kit, 'db' | 'tenant'>) =>
  db.inTenant(tenant, async (tx) => {
    const left = await tx
      .selectFrom('siem_streams as s')
      .innerJoin('audit_heads as h', 'h.tenant_id', 's.tenant_id')
      .select('s.stream_id')
      .where('s.tenant_id', '=', tenant)
      .where('h.tenant_id', '=', tenant)
      .where('s.from_at', 'is', null)
      .whereRef('s.after_seq', '<', 'h.seq')
      .execute()
    return left.length === 0
  })

/** Sets the state of a connector's stream. */
export const withStream = (
  { db, tenant }: Pick<Kit, 'db' | 'tenant'>,
  connector_id: string,
  row: Updateable<Tables['siem_streams']>,
) =>
  db.inTenant(tenant, (tx) =>
    tx
      .updateTable('siem_streams')
      .set(row)
      .where('tenant_id', '=', tenant)
      .where('stream_id', '=', decodeId('siem_connector', connector_id) ?? '')
      .execute(),
  )

/** Updates a connector; fields that are not given keep their values. */
export async function change(
  { admin }: Pick<Kit, 'admin'>,
  connector_id: string,
  given: { enabled?: boolean; url?: string },
) {
  const params = { connector_id }
  const { delivery: _, ...shown } = await admin.getSiemConnector({ params })
  await admin.updateSiemConnector({ params, body: { ...shown, ...given } })
}
