import type { TenantId } from '../../../kernel/actor.ts'
import { BoundedMap } from '../../../kernel/bounded-map.ts'
import type { GatewaysDeps } from '../deps.ts'
import { livenessOf } from '../registry/registry.queries.ts'
import { gatewayStatusOf, isSteady } from './status.ts'

/** Maximum delay of reports that other replicas received. Two statuses are 30 s apart. */
const rereadMs = 5000

export type Liveness = {
  lastSeenMs: number
  activeSessions: number
  upSinceMs: number | null
  version: string | null
  /** Sequence number of the policy that the gateway enforces. */
  policySeq: number | null
}
/** Values of one report; null if the report has none. */
type Noted = Omit<Liveness, 'activeSessions'> & { activeSessions: number | null }
type Known = Liveness & {
  /** Status that listeners were last notified of. */
  lastReported: string
}
type Held = {
  byGateway: Map<string, Known>
  readAtMs: number
  reading: Promise<void> | undefined
  /** Number of changes that may reorder a directory. */
  revision: number
}

const anyGateway = { draining: false, drain_reason: null, public_key: null, proposed_key: null }
const wordOf = (l: Liveness, atMs: number): string => {
  const { status } = gatewayStatusOf(anyGateway, l.lastSeenMs, atMs)
  return status === 'healthy' && !isSteady(l.upSinceMs, atMs) ? 'unsteady' : status
}

/**
 * Time of the last report of each gateway, cached for the directory. It comes from reports to this replica and from the
 * database.
 */
export function createLiveness({ db, now, signals }: Pick<GatewaysDeps, 'db' | 'now' | 'signals'>) {
  const tenants = new BoundedMap<TenantId, Held>(10_000)
  const listeners: ((tenant: TenantId) => void)[] = []

  function reportChanges(tenant: TenantId, h: Held): void {
    h.revision++
    for (const listen of listeners) listen(tenant)
  }

  function put(tenant: TenantId, h: Held, gatewayId: string, next: Liveness, say = signals.tell): void {
    const before = h.byGateway.get(gatewayId)
    if (before && before.lastSeenMs > next.lastSeenMs) return
    const at = now().getTime()
    const lastReported = wordOf(next, at)
    // The first read is not a change.
    const isRead = h.readAtMs > Number.NEGATIVE_INFINITY
    h.byGateway.set(gatewayId, { ...next, lastReported })
    if (before?.lastReported !== lastReported && isRead) say(tenant, 'gateway', [gatewayId])
    if (before?.policySeq !== next.policySeq && isRead) say(tenant, 'adoption', 'many')
    // Answers since the gateway fell silent already reflect its silence, so its return must be notified.
    if (before?.lastReported !== lastReported || wordOf(before, at) !== lastReported) reportChanges(tenant, h)
  }

  async function read(tenant: TenantId, h: Held): Promise<void> {
    const at = now().getTime()
    for (const row of await db.inTenant(tenant, (tx) => livenessOf(tx, tenant))) {
      const known = {
        lastSeenMs: row.last_seen_at.getTime(),
        activeSessions: row.active_sessions ?? 0,
        upSinceMs: row.up_since?.getTime() ?? null,
        version: row.version,
        policySeq: row.applied_policy_seq,
      }
      put(tenant, h, row.gateway_id, known, signals.tellHere)
    }
    h.readAtMs = at
  }
  /** Concurrent callers share one read. */
  const reread = (tenant: TenantId, h: Held): Promise<void> => {
    h.reading ??= read(tenant, h).finally(() => {
      h.reading = undefined
    })
    return h.reading
  }
  const isOld = (h: Held): boolean => Math.abs(now().getTime() - h.readAtMs) >= rereadMs

  /** A silence is notified only after a check of the reports to other replicas. */
  async function lookAt(tenant: TenantId, h: Held): Promise<void> {
    if (isOld(h)) await reread(tenant, h)
    const at = now().getTime()
    const turned = [...h.byGateway].filter(([, l]) => wordOf(l, at) !== l.lastReported)
    for (const [, l] of turned) l.lastReported = wordOf(l, at)
    if (turned.length === 0) return
    reportChanges(tenant, h)
    signals.tellHere(
      tenant,
      'gateway',
      turned.map(([id]) => id),
    )
  }

  async function of(tenant: TenantId): Promise<{ byGateway: ReadonlyMap<string, Liveness>; revision: number }> {
    let h = tenants.get(tenant)
    if (!h) {
      h = { byGateway: new Map(), readAtMs: Number.NEGATIVE_INFINITY, reading: undefined, revision: 0 }
      tenants.set(tenant, h)
    }
    if (isOld(h)) await reread(tenant, h)
    return h
  }
  // If the database is unavailable, the next report or caller tries again.
  const begin = (tenant: TenantId) => {
    const h = tenants.get(tenant)
    const reading = h ? reread(tenant, h) : of(tenant)
    reading.catch(() => undefined)
  }
  signals.onBegun(begin)
  signals.listen((tenant, topic, _, isRemote) => {
    const h = tenants.get(tenant)
    if (topic === 'gateway' && isRemote && h) reread(tenant, h).catch(() => undefined)
  })

  return {
    note: (tenant: TenantId, gatewayId: string, { activeSessions, version, policySeq, ...times }: Noted): void => {
      const h = tenants.get(tenant)
      if (!h) {
        // Later reports can be compared once this read is done.
        if (signals.isWatched(tenant)) begin(tenant)
        return
      }
      const before = h.byGateway.get(gatewayId)
      put(tenant, h, gatewayId, {
        ...times,
        activeSessions: activeSessions ?? before?.activeSessions ?? 0,
        version: version ?? before?.version ?? null,
        policySeq: policySeq ?? before?.policySeq ?? null,
      })
    },

    /** Calls the listener when a gateway of a tenant reports again or for the first time, or falls silent. */
    onChange: (listener: (tenant: TenantId) => void): void => {
      listeners.push(listener)
    },

    /**
     * Called periodically, for tenants with waiting requests or watchers. Checks whether a gateway has fallen silent,
     * or whether another replica has received a report of a silent one.
     */
    look: (isAwaited: (tenant: TenantId) => boolean): void => {
      const at = now().getTime()
      for (const [tenant, h] of tenants.entries()) {
        const isWatched = signals.isWatchedHere(tenant)
        const isWaited = isAwaited(tenant)
        if (!isWaited && !isWatched) continue
        const isDue = [...h.byGateway.values()].some((l) => {
          const statusText = wordOf(l, at)
          // Watchers receive signals about reports to other replicas, so no read is needed for them.
          return statusText !== l.lastReported || (isWaited && statusText !== 'healthy' && isOld(h))
        })
        // If the database is unavailable, nothing is notified; the next beat tries again.
        if (isDue) lookAt(tenant, h).catch(() => undefined)
      }
    },

    /** Returns the last report of each gateway of the tenant, at most some seconds behind other replicas. */
    of,
  }
}
