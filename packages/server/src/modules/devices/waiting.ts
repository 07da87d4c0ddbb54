import { background, type Database, type Tx } from '../../db/database.ts'
import { jobSource, type TenantId } from '../../kernel/actor.ts'
import { eachTenant, TenantGone } from '../../kernel/each-tenant.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { Notice, NotificationRules } from '../notifications/index.ts'
import { countWaiting, holdWaiting, tenantsWithWaiting } from './waiting.queries.ts'

const job = 'watch_waiting_devices'
const kind = 'device.awaiting_approval'
/** Changes within this time are handled together. */
const gatherMs = 300
/** Above it, the notification says "more than". */
const mostCounted = 10_000

export type WaitingNotices = Pick<
  NotificationRules,
  'notify' | 'close' | 'restate' | 'closedByPersonAt' | 'tenantsWithOpen'
>
/**
 * Keeps one open notification in each tenant with devices that wait for approval. It shows their number and is closed
 * when none waits. Status changes of devices trigger an update. The job does the updates that a terminated replica
 * left.
 */
export function createApprovalAlerts({
  db,
  notifications,
  onError,
}: {
  db: Database
  notifications: WaitingNotices
  onError: (e: unknown) => void
}) {
  const due = new Set<TenantId>()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()

  /** The lock makes the last update decisive: it sees everything committed before it began. */
  const look = (tenant: TenantId): Promise<void> =>
    db.inTenant(
      tenant,
      async (tx) => {
        await holdWaiting(tx, tenant)
        const { count, newestAt } = await countWaiting(tx, tenant, mostCounted + 1)
        if (newestAt === null) await notifications.close(tx, jobSource(tenant, job), kind)
        else await notifyWaiting(tx, tenant, noticeOf(tenant, count), newestAt)
      },
      background,
    )
  async function notifyWaiting(tx: Tx, tenant: TenantId, notice: Notice & { dedupe_key: string }, newestAt: Date) {
    if (await notifications.restate(tx, tenant, notice)) return
    // A person who closed the notification knows the devices that waited then.
    const closedAt = await notifications.closedByPersonAt(tx, tenant, kind)
    if (closedAt === undefined || newestAt > closedAt) await notifications.notify(tx, tenant, notice)
  }

  async function lookAtDue(): Promise<void> {
    timer = undefined
    const tenants = [...due]
    due.clear()
    await eachTenant(tenants, look).catch((e: unknown) => {
      if (!(e instanceof TenantGone)) onError(e)
    })
  }

  return {
    /** Devices of the tenant may have started or stopped waiting. */
    moved: (tenant: TenantId): void => {
      due.add(tenant)
      timer ??= setTimeout(() => {
        running = running.then(lookAtDue)
      }, gatherMs).unref()
    },
    sweep: async (): Promise<void> => {
      const waiting = await db.acrossTenants(tenantsWithWaiting, background)
      await eachTenant(new Set([...waiting, ...(await notifications.tenantsWithOpen(kind))]), look)
    },
    /** The job of another replica updates the tenants that are still due. */
    stop: async (): Promise<void> => {
      clearTimeout(timer)
      await running
    },
  }
}
export type Waiting = ReturnType<typeof createApprovalAlerts>

function noticeOf(tenant: TenantId, count: number): Notice & { dedupe_key: string } {
  const number = count > mostCounted ? `More than ${mostCounted}` : String(count)
  return {
    kind,
    severity: 'info',
    title: count === 1 ? '1 device waits for approval' : `${number} devices wait for approval`,
    detail:
      'A device has no access before its approval. Approve the devices that you know, and revoke the others. To list them: holdfast device list --status pending',
    subject: { type: 'tenant', id: encodeId('tenant', tenant), name: null },
    dedupe_key: kind,
  }
}
