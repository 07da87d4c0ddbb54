import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { StreamRow } from '../delivery/streams.queries.ts'

export type ExportRow = StreamRow & { from_at: Date; to_at: Date }

const selectExports = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('siem_streams')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('from_at', 'is not', null)
    .where('to_at', 'is not', null)
    .$narrowType<{ from_at: Date; to_at: Date }>()

export const findExport = (tx: Tx, tenant: TenantId, id: string): Promise<ExportRow | undefined> =>
  selectExports(tx, tenant).where('stream_id', '=', id).executeTakeFirst()

/** Returns the running exports of a connector. */
export const exportsOnTheirWay = (tx: Tx, tenant: TenantId, connectorId: string): Promise<ExportRow[]> =>
  selectExports(tx, tenant).where('connector_id', '=', connectorId).where('finished_at', 'is', null).execute()
