import { deadLetterDays } from '@holdfast/contract/limits'
import type { Tx } from '../../../db/database.ts'
import { isAway } from '../../../db/unavailable.ts'
import { jobSource, type TenantId } from '../../../kernel/actor.ts'
import { eachTenant } from '../../../kernel/each-tenant.ts'
import { minute } from '../../../kernel/time.ts'
import type { Audit } from '../../audit/index.ts'
import type { NotificationRules } from '../../notifications/index.ts'
import { findConnector, lockTroubled } from '../connectors.queries.ts'
import { connectorTarget } from '../target.ts'
import type { StreamRow } from './streams.queries.ts'

/** A problem shorter than this causes no notification. */
const patienceMs = 10 * minute
const job = 'deliver_siem'
const causeOf = (kind: Kind, connectorId: string) => `${kind}:${connectorId}`

const kinds = ['siem.parked', 'siem.failing', 'siem.dead_letters'] as const
type Kind = (typeof kinds)[number]

const meanwhile: Readonly<Record<Kind, string>> = {
  'siem.parked':
    'Delivery is stopped until an administrator changes the connector, tests it successfully, starts a replay, or sets aside the event that blocks it. No event is lost meanwhile.',
  'siem.failing': 'The server retries the delivery automatically. No event is lost meanwhile.',
  'siem.dead_letters': `Later events are still delivered. Dead letters are kept for ${deadLetterDays} days. Correct the receiver, then start a replay of dead letters. There is no further notification about dead letters until all of them are removed.`,
}

type NoticesDeps = {
  audit: Pick<Audit, 'record'>
  notifications: Pick<NotificationRules, 'notify' | 'closeOthers' | 'tenantsWithOpen'>
  onError: (e: unknown) => void
}
/**
 * Notifies administrators of connectors that stop forwarding or have dead letters, and closes the notification after
 * recovery.
 */
export function createNotices({ audit, notifications, onError }: NoticesDeps) {
  type Of = Pick<StreamRow, 'tenant_id' | 'connector_id'>
  async function notifyAbout(tx: Tx, { tenant_id, connector_id }: Of, kind: Kind, problem: string): Promise<void> {
    const connector = await findConnector(tx, tenant_id, connector_id)
    if (!connector) return
    const isDead = kind === 'siem.dead_letters'
    await notifications.notify(tx, tenant_id, {
      kind,
      severity: kind === 'siem.parked' ? 'critical' : 'warning',
      title: `Audit events are ${isDead ? 'dead letters of' : 'not forwarded to'} ${connector.name}`,
      detail: `${problem} ${meanwhile[kind]}`,
      subject: connectorTarget(connector),
      dedupe_key: causeOf(kind, connector_id),
    })
  }
  /** Closes notifications of connectors that have recovered or are deleted. */
  async function close(tenant: TenantId): Promise<void> {
    for (const kind of kinds)
      await notifications.closeOthers(jobSource(tenant, job), kind, async (tx) => {
        const bad = await lockTroubled(tx, tenant, kind === 'siem.dead_letters' ? 'dead letters' : 'standing still')
        return new Set(bad.map((id) => causeOf(kind, id)))
      })
  }
  return {
    parked: async (tx: Tx, stream: StreamRow, problem: string): Promise<void> => {
      if (stream.from_at !== null) return
      await notifyAbout(tx, stream, 'siem.parked', problem)
      const connector = await findConnector(tx, stream.tenant_id, stream.connector_id)
      if (!connector) return
      const target = connectorTarget(connector)
      const source = jobSource(stream.tenant_id, job)
      const more = { target, outcome: 'failed' as const, details: { reason: problem } }
      await audit.record(tx, source, 'siem_connector.parked', { connector_id: target.id }, more)
    },
    /** Notifies of the first dead letter. Others cause no notification until there are none left. */
    deadLetters: (tx: Tx, of: Of, reason: string): Promise<void> => notifyAbout(tx, of, 'siem.dead_letters', reason),
    failing: async (tx: Tx, stream: StreamRow): Promise<void> => {
      if (stream.from_at !== null || stream.failing_since === null) return
      if (stream.due_at.getTime() - stream.failing_since.getTime() < patienceMs) return
      await notifyAbout(tx, stream, 'siem.failing', stream.problem ?? '')
    },
    /**
     * Called when a connector has recovered or is deleted. If the notification cannot be closed now, `sweep` closes it
     * later.
     */
    recovered: (tenant: TenantId): Promise<void> =>
      close(tenant).catch((e: unknown) => {
        if (!isAway(e)) onError(e)
      }),
    /** Also closes notifications that `recovered` could not close. */
    sweep: async (): Promise<void> => {
      const open = await Promise.all(kinds.map(notifications.tenantsWithOpen))
      await eachTenant(new Set(open.flat()), close)
    },
  }
}
export type Notices = ReturnType<typeof createNotices>
