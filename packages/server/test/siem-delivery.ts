import type { Updateable } from 'kysely'
import type { Tables } from '../src/db/tables/index.ts'
import { decodeId } from '../src/kernel/ids.ts'
import type { Kit } from './kit.ts'

export const deliveryOf = async ({ admin }: Pick<Kit, 'admin'>, connector_id: string) =>
  (await admin.getSiemConnector({ params: { connector_id } })).delivery

/** As if its stream had come to stand so. */
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

/** Switches a connector on or off; whatever else is set of it stays, or is given. */
export async function change({ admin }: Pick<Kit, 'admin'>, connector_id: string, given: { enabled?: boolean; url?: string }) {
  const params = { connector_id }
  const { delivery: _, ...shown } = await admin.getSiemConnector({ params })
  await admin.updateSiemConnector({ params, body: { ...shown, ...given } })
}
