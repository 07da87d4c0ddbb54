import type { Database } from '../../../db/database.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { failField, failMaximum } from '../../../kernel/app-error.ts'
import { encodeId, missing, newUuid } from '../../../kernel/ids.ts'
import type { Audit } from '../../audit/index.ts'
import { lockConnector } from '../connectors.queries.ts'
import { noConnector } from '../connectors.ts'
import * as queries from '../delivery/streams.queries.ts'
import { connectorTarget } from '../target.ts'

/** Limit per connector: exports run at the same time, to the same receiver. */
const mostAtOnce = 5

const noExport = () => missing('siem_export')
type ExportsDeps = { db: Database; audit: Audit; now: () => Date }

/** Sends the events of a period to a webhook again, in parallel to the normal forwarding. */
export const createSiemExports = ({ db, audit, now }: ExportsDeps) => ({
  /** Starts an export. A repeated request for a running one returns that one, and is not recorded. */
  begin: async (actor: Actor, connectorId: string, time: { from: Date; to?: Date }): Promise<queries.ExportRow> => {
    const at = now()
    const { from, to = at } = time
    if (Number.isNaN(from.getTime()))
      failField('from', 'must be an RFC 3339 time that exists, such as 2026-01-31T09:30:00Z')
    if (Number.isNaN(to.getTime()))
      failField('to', 'must be an RFC 3339 time that exists, such as 2026-01-31T09:30:00Z')
    if (to > at) failField('to', 'must not be in the future')
    if (from >= to) failField('from', 'must be before to')
    const tenant = actor.tenantId
    // Events committed before get their sequence numbers now, and are sent.
    await audit.catchUp(tenant)
    return db.inTenant(tenant, async (tx) => {
      const connector = (await lockConnector(tx, tenant, connectorId)) ?? noConnector()
      if (connector.kind !== 'webhook') failField('connector_id', 'must be the id of a connector of kind webhook')
      if (!connector.enabled) failField('connector_id', 'must be the id of an enabled connector')
      const others = await queries.exportsOnTheirWay(tx, tenant, connectorId)
      const isSame = (e: queries.ExportRow) =>
        e.from_at.getTime() === from.getTime() && (time.to === undefined || e.to_at.getTime() === to.getTime())
      const same = others.find(isSame)
      if (same) return same
      if (others.length >= mostAtOnce)
        failMaximum(`the connector has ${mostAtOnce} unfinished exports`, 'wait until one has finished')
      const stream_id = newUuid()
      const range = { from_at: from, to_at: to, after_seq: null, created_at: at }
      await queries.insertStream(tx, {
        tenant_id: tenant,
        stream_id,
        connector_id: connectorId,
        state: 'flowing',
        ...range,
      })
      const target = connectorTarget(connector)
      const fields = { connector_id: target.id, export_id: encodeId('siem_export', stream_id) }
      const details = { from: from.toISOString(), to: to.toISOString() }
      await audit.record(tx, actor, 'siem_export.started', fields, { target, details })
      return (await queries.findExport(tx, tenant, stream_id)) ?? noExport()
    })
  },
  get: async (tenant: TenantId, id: string): Promise<queries.ExportRow> =>
    (await db.inTenant(tenant, (tx) => queries.findExport(tx, tenant, id))) ?? noExport(),
})
export type SiemExports = ReturnType<typeof createSiemExports>
