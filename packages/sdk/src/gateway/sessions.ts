import { mostResources } from '@holdfast/contract/vpn-sessions'
import { newSessionId } from '../device/session-id.ts'
import { isObject } from '../verify/signed.ts'
import type { MeterCall, Metered, MeteringLoad, MeteringSample } from './metering.ts'
import type { GatewayStore } from './store.ts'

/** A connection of a device, as seen by its gateway. */
export type GatewaySession = {
  /** Id created by the gateway: `vse_…`. */
  session_id: string
  device_id: string
  /** RFC 3339 */
  started_at: string
  source_ip?: string
  assigned_ip?: string
  policy_digest?: string
}
type Bytes = { rx_bytes: number; tx_bytes: number }
type Counts = Bytes & { denied_packets?: number }
/**
 * Byte counters of the interface since its creation: `rx` received by the gateway, `tx` sent by it. The packet filter
 * adds growing counters for traffic inside the tunnel: packets denied by the policy, and bytes by resource name.
 */
export type Counters = Counts & { resources?: Readonly<Record<string, Bytes>> }

type Counted = { seen: Counts; unreported: Counts }
type Entry = GatewaySession & Counted & { resources?: Record<string, Counted>; end_reason: string | null }
type SessionsOptions = {
  meter: (samples: readonly MeteringSample[], call: MeterCall) => Promise<Metered>
  store: GatewayStore | undefined
  onStoreError: (e: unknown) => void
  now: () => Date
}

const schema = 'holdfast.gateway-sessions/1'
const none: Bytes = { rx_bytes: 0, tx_bytes: 0 }

/**
 * Manages the connections of a gateway and their traffic. With a store they survive the process: an agent whose
 * interface kept running continues the same sessions and loses no byte.
 */
export function createSessions({ meter, store, onStoreError, now }: SessionsOptions) {
  let entries = new Map<string, Entry>()
  let saving: Promise<void> | undefined
  let isChanged = false
  let reporting: Promise<Metered> | undefined

  /** One save at a time. Changes during a save go into the next one. */
  function save(): Promise<void> {
    isChanged = true
    saving ??= (async () => {
      while (isChanged) {
        isChanged = false
        const text = JSON.stringify({ schema, sessions: [...entries.values()] })
        await store?.save('sessions', text).catch(onStoreError)
      }
      saving = undefined
    })()
    return saving
  }

  const found = (sessionId: string): Entry => {
    const entry = entries.get(sessionId)
    if (!entry || entry.end_reason !== null) throw new TypeError(`no session ${sessionId} is running`)
    return entry
  }

  function count(entry: Entry, { resources = {}, ...seen }: Counters): void {
    add(entry, seen)
    const known = new Map(Object.entries(entry.resources ?? {}))
    for (const [name, bytes] of Object.entries(resources)) {
      const one = known.get(name) ?? { seen: { ...none }, unreported: { ...none } }
      add(one, bytes)
      if (known.has(name) || known.size < mostResources) known.set(name, one)
    }
    entry.resources = Object.fromEntries(known)
  }

  async function reportOnce(more: { load?: MeteringLoad; signal?: AbortSignal }): Promise<Metered> {
    const samples: MeteringSample[] = []
    for (const entry of entries.values()) {
      const { seen: _, unreported, resources, end_reason, ...session } = entry
      const end = end_reason === null ? {} : { end_reason }
      const byResource = takeResources(resources)
      const state = end_reason === null ? 'active' : 'ended'
      samples.push({ ...session, ...unreported, ...byResource, ...end, state })
      entry.unreported = { ...none }
      if (end_reason !== null) entries.delete(entry.session_id)
    }
    // The reported bytes leave the store only after the report is saved, so nothing is lost in between.
    return meter(samples, { ...more, onKept: save })
  }

  return {
    /** The running sessions. */
    get running(): GatewaySession[] {
      return [...entries.values()]
        .filter((e) => e.end_reason === null)
        .map(({ seen: _, unreported: __, resources: ___, end_reason: ____, ...session }) => session)
    },
    /** `counters`: present values of the interface for the peer; default zero. */
    start: (of: Omit<GatewaySession, 'session_id' | 'started_at'>, counters: Counters = none): GatewaySession => {
      const session = { ...of, session_id: newSessionId(now()), started_at: now().toISOString() }
      const { resources = {}, ...seen } = counters
      const counted = Object.entries(resources).slice(0, mostResources)
      entries.set(session.session_id, {
        ...session,
        seen: { ...seen },
        unreported: { ...none },
        end_reason: null,
        resources: Object.fromEntries(
          counted.map(([name, bytes]) => [name, { seen: { ...bytes }, unreported: { ...none } }]),
        ),
      })
      void save()
      return session
    },
    /** Takes the present counters of the interface. Throws `TypeError` for a session that is not running. */
    count: (sessionId: string, counters: Counters): void => count(found(sessionId), counters),
    /** Ends a session, which the next report contains. Throws `TypeError` for a session that is not running. */
    end: (sessionId: string, reason: string, counters?: Counters): void => {
      const entry = found(sessionId)
      if (counters) count(entry, counters)
      entry.end_reason = reason.slice(0, 64)
      void save()
    },
    /**
     * Reports the traffic since the last report, exactly once, even if the response is lost. There is one report at a
     * time; traffic during a report goes into the next.
     */
    report: (more: { load?: MeteringLoad; signal?: AbortSignal } = {}): Promise<Metered> => {
      reporting ??= reportOnce(more).finally(() => {
        reporting = undefined
      })
      return reporting
    },
    /** Loads the sessions of an earlier process. */
    restore: async (): Promise<void> => {
      const text = await store?.load('sessions')
      if (text === undefined) return
      const value: unknown = JSON.parse(text)
      if (!isObject(value) || value.schema !== schema || !Array.isArray(value.sessions))
        throw new TypeError('the stored value is not a list of sessions')
      const kept: Entry[] = value.sessions
      entries = new Map([...kept.map((e) => [e.session_id, e] as const), ...entries])
    },
  }
}
function add(to: Counted, seen: Counts): void {
  for (const name of ['rx_bytes', 'tx_bytes', 'denied_packets'] as const) {
    const now = seen[name]
    if (now === undefined) continue
    const before = to.seen[name] ?? 0
    // A counter that fell was reset: its value is the traffic since then.
    to.unreported[name] = (to.unreported[name] ?? 0) + (now >= before ? now - before : now)
    to.seen[name] = now
  }
}

/** Takes the traffic by resource since the last report, and resets it. */
function takeResources(resources: Record<string, Counted> = {}): Pick<MeteringSample, 'resources'> {
  const moved = Object.entries(resources).filter(([, { unreported }]) => unreported.rx_bytes + unreported.tx_bytes > 0)
  if (moved.length === 0) return {}
  return {
    resources: moved.map(([resource, one]) => {
      const { rx_bytes, tx_bytes } = one.unreported
      one.unreported = { ...none }
      return { resource, rx_bytes, tx_bytes }
    }),
  }
}

export type GatewaySessions = ReturnType<typeof createSessions>
