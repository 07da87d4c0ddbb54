import type { TenantId } from '../../../kernel/actor.ts'
import { BoundedMap } from '../../../kernel/bounded-map.ts'
import type { GatewaysDeps } from '../deps.ts'
import { livenessOf } from '../registry/registry.queries.ts'
import { isSteady, statusOf } from './status.ts'

/** How long the reports that other replicas took may be unknown here; half of the step between two statuses is 15 s. */
const rereadMs = 5000

export type Liveness = {
  lastSeenMs: number
  activeSessions: number
  upSinceMs: number | null
  version: string | null
  /** Of the policy that it enforces. */
  policySeq: number | null
}
/** The values of one report; null: the report has none. */
type Noted = Omit<Liveness, 'activeSessions'> & { activeSessions: number | null }
type Known = Liveness & {
  /** What those who listen were told of it last. */
  told: string
}
type Held = {
  byGateway: Map<string, Known>
  readAtMs: number
  reading: Promise<void> | undefined
  /** Counts what changed the order of a directory. */
  revision: number
}

const anyGateway = { draining: false, drain_reason: null, public_key: null, proposed_key: null }
const wordOf = (l: Liveness, atMs: number): string => {
  const { status } = statusOf(anyGateway, l.lastSeenMs, atMs)
  return status === 'healthy' && !isSteady(l.upSinceMs, atMs) ? 'unsteady' : status
}

/**
 * When each gateway was last heard of, held in memory for the directory: by reports that came here, and by what was
 * written elsewhere.
 */
export function createLiveness({ db, now, signals }: Pick<GatewaysDeps, 'db' | 'now' | 'signals'>) {
  const held = new BoundedMap<TenantId, Held>(10_000)
  const listeners: ((tenant: TenantId) => void)[] = []

  function tell(tenant: TenantId, h: Held): void {
    h.revision++
    for (const listen of listeners) listen(tenant)
  }

  function put(tenant: TenantId, h: Held, gatewayId: string, next: Liveness, say = signals.tell): void {
    const before = h.byGateway.get(gatewayId)
    if (before && before.lastSeenMs > next.lastSeenMs) return
    const at = now().getTime()
    const told = wordOf(next, at)
    // The first reading is no change.
    const isRead = h.readAtMs > Number.NEGATIVE_INFINITY
    h.byGateway.set(gatewayId, { ...next, told })
    if (before?.told !== told && isRead) say(tenant, 'gateway', [gatewayId])
    if (before?.policySeq !== next.policySeq && isRead) say(tenant, 'adoption', 'many')
    // Whoever asked since it fell silent was given what its silence says.
    if (before?.told !== told || wordOf(before, at) !== told) tell(tenant, h)
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
  /** Those who ask at once share one reading. */
  const reread = (tenant: TenantId, h: Held): Promise<void> => {
    h.reading ??= read(tenant, h).finally(() => {
      h.reading = undefined
    })
    return h.reading
  }
  const isOld = (h: Held): boolean => Math.abs(now().getTime() - h.readAtMs) >= rereadMs

  /** Silence is said only after a look at what other replicas heard. */
  async function lookAt(tenant: TenantId, h: Held): Promise<void> {
    if (isOld(h)) await reread(tenant, h)
    const at = now().getTime()
    const turned = [...h.byGateway].filter(([, l]) => wordOf(l, at) !== l.told)
    for (const [, l] of turned) l.told = wordOf(l, at)
    if (turned.length === 0) return
    tell(tenant, h)
    signals.tellHere(
      tenant,
      'gateway',
      turned.map(([id]) => id),
    )
  }

  async function of(tenant: TenantId): Promise<{ byGateway: ReadonlyMap<string, Liveness>; revision: number }> {
    let h = held.get(tenant)
    if (!h) {
      h = { byGateway: new Map(), readAtMs: Number.NEGATIVE_INFINITY, reading: undefined, revision: 0 }
      held.set(tenant, h)
    }
    if (isOld(h)) await reread(tenant, h)
    return h
  }
  // Without the database the next report or the next who asks tries again.
  const begin = (tenant: TenantId) => {
    const h = held.get(tenant)
    const reading = h ? reread(tenant, h) : of(tenant)
    reading.catch(() => undefined)
  }
  signals.onBegun(begin)
  signals.listen((tenant, topic, _, isRemote) => {
    const h = held.get(tenant)
    if (topic === 'gateway' && isRemote && h) reread(tenant, h).catch(() => undefined)
  })

  return {
    note: (tenant: TenantId, gatewayId: string, { activeSessions, version, policySeq, ...times }: Noted): void => {
      const h = held.get(tenant)
      if (!h) {
        // From the next report on it is known what changed.
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

    /** Calls when a gateway of a tenant is heard of again, for the first time, or no more. */
    onChange: (listener: (tenant: TenantId) => void): void => {
      listeners.push(listener)
    },

    /**
     * Now and then: whether time has turned a gateway silent, or another replica has heard of one that was, in the
     * tenants in which somebody waits to be told.
     */
    look: (isAwaited: (tenant: TenantId) => boolean): void => {
      const at = now().getTime()
      for (const [tenant, h] of held.entries()) {
        const isWatched = signals.isWatchedHere(tenant)
        const isWaited = isAwaited(tenant)
        if (!isWaited && !isWatched) continue
        const isDue = [...h.byGateway.values()].some((l) => {
          const word = wordOf(l, at)
          // A tenant that is only watched hears by signals of the reports to other replicas.
          return word !== l.told || (isWaited && word !== 'healthy' && isOld(h))
        })
        // Without the database nothing is told: the next beat tries again.
        if (isDue) lookAt(tenant, h).catch(() => undefined)
      }
    },

    /** When each gateway of the tenant was last heard of, at most some seconds behind what other replicas know. */
    of,
  }
}
