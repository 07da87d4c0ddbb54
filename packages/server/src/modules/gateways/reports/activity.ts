import type { TenantId } from '../../../kernel/actor.ts'
import { BoundedMap } from '../../../kernel/bounded-map.ts'
import { createGroupCommit } from '../../../kernel/group-commit.ts'
import type { GatewaysDeps } from '../deps.ts'
import { livenessOf } from '../registry/registry.queries.ts'
import { type Report, silentSince, upsertActivity } from './activity.queries.ts'
import { downAfterMs, statusOf } from './status.ts'

/** How long the reports that other replicas took may be unknown here; half of the step between two statuses is 15 s. */
const rereadMs = 5000

export type Liveness = { lastSeenMs: number; activeSessions: number }
type Held = {
  byGateway: Map<string, Liveness>
  readAtMs: number
  reading: Promise<void> | undefined
  /** Counts what changed the order of a directory. */
  revision: number
}

const anyGateway = { draining: false, drain_reason: null, public_key: null, proposed_key: null }

/** What gateways say of themselves: written in batches, and held in memory for the directory. */
export function createActivity({ db, now }: Pick<GatewaysDeps, 'db' | 'now'>) {
  const held = new BoundedMap<TenantId, Held>(10_000)
  const listeners: ((tenant: TenantId) => void)[] = []
  const join = createGroupCommit<Report>(
    (batch) => db.acrossTenants((tx) => upsertActivity(tx, newest(batch)).then(() => [])),
    {
      tenantOf: (report) => report.tenantId,
      maxBatch: 2000,
      maxQueue: 50_000,
      maxPerTenant: 20_000,
    },
  )

  const put = (tenant: TenantId, h: Held, gatewayId: string, next: Liveness) => {
    const before = h.byGateway.get(gatewayId)
    if (before && before.lastSeenMs > next.lastSeenMs) return
    const at = now().getTime()
    const word = (l: Liveness | undefined) => statusOf(anyGateway, l?.lastSeenMs ?? null, at).status
    h.byGateway.set(gatewayId, next)
    if (word(before) === word(next)) return
    h.revision++
    for (const tell of listeners) tell(tenant)
  }

  async function read(tenant: TenantId, h: Held): Promise<void> {
    const at = now().getTime()
    for (const row of await db.inTenant(tenant, (tx) => livenessOf(tx, tenant)))
      put(tenant, h, row.gateway_id, {
        lastSeenMs: row.last_seen_at.getTime(),
        activeSessions: row.active_sessions ?? 0,
      })
    h.readAtMs = at
  }

  return {
    /** Settles once the report is durable. */
    report: async (report: Report): Promise<void> => {
      await join(report)
      const h = held.get(report.tenantId)
      if (!h) return
      const activeSessions = report.activeSessions ?? h.byGateway.get(report.gatewayId)?.activeSessions ?? 0
      put(report.tenantId, h, report.gatewayId, { lastSeenMs: report.at.getTime(), activeSessions })
    },

    /** Calls when a gateway of a tenant is heard of again, or for the first time. */
    onChange: (listener: (tenant: TenantId) => void): void => {
      listeners.push(listener)
    },

    /** Gateways of all tenants that are down, and since when they are silent. */
    down: async () => {
      const rows = await db.acrossTenants((tx) => silentSince(tx, new Date(now().getTime() - downAfterMs)))
      return rows.map((r) => ({
        tenantId: r.tenant_id,
        gatewayId: r.gateway_id,
        name: r.name,
        lastSeenAt: r.last_seen_at,
      }))
    },

    /** When each gateway of the tenant was last heard of, at most some seconds behind what other replicas know. */
    of: async (tenant: TenantId): Promise<{ byGateway: ReadonlyMap<string, Liveness>; revision: number }> => {
      let h = held.get(tenant)
      if (!h) {
        h = { byGateway: new Map(), readAtMs: Number.NEGATIVE_INFINITY, reading: undefined, revision: 0 }
        held.set(tenant, h)
      }
      const mine = h
      if (Math.abs(now().getTime() - mine.readAtMs) >= rereadMs) {
        mine.reading ??= read(tenant, mine).finally(() => {
          mine.reading = undefined
        })
        await mine.reading
      }
      return mine
    },
  }
}
export type Activity = ReturnType<typeof createActivity>

/** One report a gateway: of several in a batch the later one, with what only the earlier says. */
function newest(batch: readonly Report[]): Report[] {
  const byGateway = new Map<string, Report>()
  for (const report of batch) {
    const known = byGateway.get(report.gatewayId)
    byGateway.set(report.gatewayId, known ? merge(known, report) : report)
  }
  return [...byGateway.values()]
}

function merge(a: Report, b: Report): Report {
  const [earlier, later] = a.at <= b.at ? [a, b] : [b, a]
  if (earlier.bootId !== later.bootId) return later
  return {
    ...later,
    version: later.version ?? earlier.version,
    activeSessions: later.activeSessions ?? earlier.activeSessions,
    rxBps: later.rxBps ?? earlier.rxBps,
    txBps: later.txBps ?? earlier.txBps,
    policyDigest: later.policyDigest ?? earlier.policyDigest,
    policySeq: later.policySeq ?? earlier.policySeq,
    trustVersion: later.trustVersion ?? earlier.trustVersion,
    applyError: later.applyError ?? earlier.applyError,
    system: later.system ?? earlier.system,
  }
}
