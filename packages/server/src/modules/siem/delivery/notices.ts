import type { Database, Tx } from '../../../db/database.ts'
import { jobSource, type Source, type TenantId } from '../../../kernel/actor.ts'
import { minute } from '../../../kernel/time.ts'
import type { Audit } from '../../audit/index.ts'
import type { NotificationRules } from '../../notifications/index.ts'
import { findConnector, troubled } from '../connectors.queries.ts'
import { targetOf } from '../target.ts'
import type { StreamRow } from './streams.queries.ts'

/** What mends itself within this time is nobody's business. */
const patienceMs = 10 * minute
const job = 'deliver_siem'
type Kind = 'siem.parked' | 'siem.failing'
const causeOf = (kind: Kind, connectorId: string) => `${kind}:${connectorId}`

type NoticesDeps = {
  db: Database
  audit: Pick<Audit, 'record'>
  notifications: Pick<NotificationRules, 'notify' | 'closeOthers'>
}
/** Tells administrators of connectors that stand still, and takes it back when they go on. */
export function createNotices({ db, audit, notifications }: NoticesDeps) {
  async function tell(tx: Tx, { tenant_id, connector_id }: StreamRow, kind: Kind, problem: string): Promise<void> {
    const connector = await findConnector(tx, tenant_id, connector_id)
    if (!connector) return
    const isParked = kind === 'siem.parked'
    await notifications.notify(tx, tenant_id, {
      kind,
      severity: isParked ? 'critical' : 'warning',
      title: `Audit events are not forwarded to ${connector.name}`,
      detail: `${problem} ${
        isParked
          ? 'Nothing more is sent there until somebody changes the connector, tests it with success, or replays. Events are kept meanwhile.'
          : 'It is tried again by itself. Events are kept meanwhile.'
      }`,
      subject: targetOf(connector),
      dedupe_key: causeOf(kind, connector_id),
    })
  }
  return {
    parked: async (tx: Tx, stream: StreamRow, problem: string): Promise<void> => {
      if (stream.from_at !== null) return
      await tell(tx, stream, 'siem.parked', problem)
      const connector = await findConnector(tx, stream.tenant_id, stream.connector_id)
      if (!connector) return
      const target = targetOf(connector)
      const source = jobSource(stream.tenant_id, job)
      const more = { target, outcome: 'failed' as const, details: { reason: problem } }
      await audit.record(tx, source, 'siem_connector.parked', { connector_id: target.id }, more)
    },
    failing: async (tx: Tx, stream: StreamRow): Promise<void> => {
      if (stream.from_at !== null || stream.failing_since === null) return
      if (stream.due_at.getTime() - stream.failing_since.getTime() < patienceMs) return
      await tell(tx, stream, 'siem.failing', stream.problem ?? '')
    },
    /** Closes what was told of connectors that are well again, or gone. */
    recovered: async (tenant: TenantId, source: Source = jobSource(tenant, job)): Promise<void> => {
      const bad = await db.inTenant(tenant, (tx) => troubled(tx, tenant))
      for (const kind of ['siem.parked', 'siem.failing'] as const)
        await notifications.closeOthers(source, kind, new Set(bad.map((id) => causeOf(kind, id))))
    },
  }
}
export type Notices = ReturnType<typeof createNotices>
