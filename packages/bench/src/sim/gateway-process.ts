import { randomBytes } from 'node:crypto'
import { type Gateway, type GatewayState, type GatewayStatus, openGateway } from '@holdfast/sdk'
import { type Connections, flattenPeers } from './boxes.ts'
import { clock, within } from './in-parallel.ts'
import { agentAt } from './lines.ts'
import type { Found } from './reach.ts'
import { retryAfter, turnOf } from './retry-after.ts'
import { mintSessionId } from './session-id.ts'
import { type Carried, type Session, sampleOf } from './traffic.ts'
import { serveCommands } from './worker.ts'

export type GatewayEvent =
  | { kind: 'gone'; gatewayId: string; deviceIds: string[]; at: number }
  | { kind: 'busy'; gatewayId: string }
  | { kind: 'unanswered'; gatewayId: string; where: string; message: string }
  | { kind: 'error'; gatewayId: string; where: string; message: string }
type Running = {
  gateway: Gateway
  stop: AbortController
  stopped: Promise<void>
  status: GatewayStatus | undefined
  sessions: Map<string, Session>
  woken: (() => void)[]
  beat: NodeJS.Timeout | undefined
  behaviour: Behaviour
}
/** stopped: neither pulls nor reports. deaf: keeps sessions that it must end. mute: reports no metering. */
type Behaviour = 'honest' | 'stopped' | 'deaf' | 'mute'
/** The devices that a gateway must let in, each with the digest of its variant, its user and its WireGuard key. */
export type WantedPeers = {
  gatewayId: string
  peers: [deviceId: string, digest: string, userId: string | null, key: string][]
}

const running = new Map<string, Running>()
/** Pulls and heartbeats repeat by themselves: a request to retry later, or no answer, is no failure. */
const fail = (gatewayId: string, where: string, error: unknown) => {
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  const isPassing = retryAfter(error) !== undefined
  tell({ kind: isPassing ? turnOf(error) : 'error', gatewayId, where, message })
}

function startGateway(gateway: Gateway, id: string): void {
  const one: Running = {
    gateway,
    stop: new AbortController(),
    stopped: Promise.resolve(),
    status: undefined,
    sessions: new Map(),
    woken: [],
    beat: undefined,
    behaviour: 'honest',
  }
  running.set(id, one)
  startPulling(one, id)
}

function startPulling(one: Running, id: string): void {
  one.stop = new AbortController()
  one.stopped = one.gateway
    .runPulling({
      signal: one.stop.signal,
      wait: 20,
      onChange: ({ removedPeers, revokedDevices, revokedSessions }) => {
        const deviceIds = [...removedPeers, ...revokedDevices]
        if (deviceIds.length > 0) tell({ kind: 'gone', gatewayId: id, deviceIds, at: clock() })
        cut(one, new Set(deviceIds), new Set(revokedSessions))
        for (const wake of one.woken.splice(0)) wake()
      },
      onStatus: (status) => {
        one.status = status
      },
      onError: (error) => fail(id, 'pulling', error),
    })
    .catch((error) => fail(id, 'pulling', error))
}

/** Sends heartbeats; the server treats a gateway as dead after a minute without one. Settles after the first. */
async function keepBeating(gatewayId: string, one: Running): Promise<void> {
  const beat = () =>
    one.gateway.heartbeat({
      active_sessions: [...one.sessions.values()].filter((s) => !s.ended).length,
      version: 'sim/1',
    })
  const { next_heartbeat_seconds } = await beat()
  one.beat = setInterval(
    () => beat().catch((error) => fail(gatewayId, 'heartbeat', error)),
    next_heartbeat_seconds * 1000,
  )
}

/** Ends the sessions that a gateway may not carry any more; its next report says so. */
function cut({ sessions, behaviour }: Running, deviceIds: Set<string>, sessionIds: Set<string>): void {
  if (behaviour === 'deaf') return
  for (const session of sessions.values()) {
    if (session.ended || !(deviceIds.has(session.deviceId) || sessionIds.has(session.sessionId))) continue
    session.ended = true
    session.endReason = 'policy'
  }
}

/** The state of a gateway in words, for an error message. */
function describeGateway(gatewayId: string, { gateway: { state }, status }: Running): string {
  const held = state ? `seq ${state.seq} of ${state.generatedAt.toISOString()}` : 'nothing'
  return `${gatewayId}: holds ${held}; ${status?.status} since ${status?.since.toISOString()} ${status?.error ?? ''}`
}

/** Returns the first differences between a gateway's peers and the expected ones. */
function peerDifferences(state: GatewayState | null, { gatewayId, peers }: WantedPeers): string[] {
  const differences: string[] = []
  const held = state?.peers ?? new Map()
  const addresses = new Set<string>()
  for (const [deviceId, digest, userId, key] of peers) {
    const peer = state?.peers.get(deviceId)
    if (!peer) differences.push(`${gatewayId}: ${deviceId} is missing`)
    else if (peer.variant !== digest)
      differences.push(`${gatewayId}: ${deviceId} is under ${peer.variant}, expected ${digest}`)
    else if (peer.user_id !== userId || peer.wireguard_keys.map((k) => k.key).join() !== key)
      differences.push(`${gatewayId}: ${deviceId} has another user or key`)
    for (const address of peer?.addresses ?? []) {
      if (addresses.has(address)) differences.push(`${gatewayId}: ${deviceId} shares the address ${address}`)
      addresses.add(address)
    }
  }
  const wanted = new Set(peers.map(([deviceId]) => deviceId))
  for (const deviceId of held.keys())
    if (!wanted.has(deviceId)) differences.push(`${gatewayId}: ${deviceId} should not be a peer`)
  return differences
}

const commands = {
  start: async ({
    baseUrl,
    tenantId,
    ports,
    gateways,
  }: {
    baseUrl: string
    tenantId: string
    /** Ports at which the gateways reach the server, assigned in turn. Empty: the port of `baseUrl`. */
    ports: readonly number[]
    gateways: { id: string; secret: string }[]
  }) => {
    const dispatchers = ports.length > 0 ? ports.map((port) => agentAt(() => port)) : [agentAt(() => undefined)]
    for (const [i, { id, secret }] of gateways.entries()) {
      const dispatcher = dispatchers[i % dispatchers.length]
      const given = { baseUrl, tenantId, gatewayId: id, secret, ...(dispatcher && { dispatcher }) }
      startGateway(openGateway(given), id)
    }
    await Promise.all([...running].map(([gatewayId, one]) => keepBeating(gatewayId, one)))
  },
  /** Waits until every gateway has exactly these peers. Returns the differences left after `seconds`. */
  awaitPeers: async ({ wanted, seconds }: { wanted: WantedPeers[]; seconds: number }): Promise<string[]> => {
    const deadline = performance.now() + seconds * 1000
    const differences: string[] = []
    for (const each of wanted) {
      const one = running.get(each.gatewayId)
      if (!one) throw new Error(`${each.gatewayId} does not run`)
      for (;;) {
        const wake = new Promise<true>((resolve) => one.woken.push(() => resolve(true)))
        const found = peerDifferences(one.gateway.state, each)
        const left = (deadline - performance.now()) / 1000
        if (found.length === 0) break
        if (left > 0 && (await within(left, wake))) continue
        if (found.length > 0) differences.push(describeGateway(each.gatewayId, one), ...found)
        break
      }
    }
    return differences
  },
  /** Opens a session for each device at its gateway. A device that is not a peer there gets `sessionId: null`. */
  openSessions: async ({ devices }: { devices: { deviceId: string; gatewayId: string }[] }) =>
    devices.map(({ deviceId, gatewayId }) => {
      const one = running.get(gatewayId)
      if (!one?.gateway.state?.peers.has(deviceId)) return { deviceId, sessionId: null }
      const sessionId = mintSessionId(Date.now(), randomBytes(16))
      const startedAt = new Date().toISOString()
      one.sessions.set(sessionId, {
        sessionId,
        deviceId,
        gatewayId,
        rx: 0,
        tx: 0,
        ofResource: 0,
        ended: false,
        startedAt,
        endReason: undefined,
        reportedEnd: false,
      })
      return { deviceId, sessionId }
    }),
  /** True if a gateway has this number of peers, now or within `seconds`. */
  awaitCount: async ({ gatewayId, peers, seconds }: { gatewayId: string; peers: number; seconds: number }) => {
    const one = running.get(gatewayId)
    const deadline = performance.now() + seconds * 1000
    while (one && one.gateway.state?.peers.size !== peers && performance.now() < deadline) {
      const wake = new Promise<true>((resolve) => one.woken.push(() => resolve(true)))
      await within((deadline - performance.now()) / 1000, wake)
    }
    return one?.gateway.state?.peers.size === peers
  },
  flatten: async ({ gatewayId, ...asked }: { gatewayId: string; at: number; found: Found; connections: Connections }) =>
    flattenPeers(gatewayId, running.get(gatewayId)?.gateway.state ?? null, asked),
  endSessions: async ({ sessionIds }: { sessionIds: string[] }) => {
    const ending = new Set(sessionIds)
    for (const { sessions } of running.values())
      for (const session of sessions.values())
        if (ending.has(session.sessionId) && !session.ended) {
          session.ended = true
          session.endReason = 'disconnected'
        }
  },
  /** Waits until these sessions have ended. Returns those that are still open after `seconds`. */
  awaitCut: async ({ sessionIds, seconds }: { sessionIds: string[]; seconds: number }): Promise<string[]> => {
    const deadline = performance.now() + seconds * 1000
    const left: string[] = []
    for (const sessionId of sessionIds) {
      const one = [...running.values()].find(({ sessions }) => sessions.has(sessionId))
      while (one && !one.sessions.get(sessionId)?.ended && performance.now() < deadline) {
        const wake = new Promise<true>((resolve) => one.woken.push(() => resolve(true)))
        await within((deadline - performance.now()) / 1000, wake)
      }
      if (!one?.sessions.get(sessionId)?.ended) left.push(sessionId)
    }
    return left
  },
  /** Adds `bytes` and a little more to every session and reports it. A session that has ended is reported once more. */
  meter: async ({ bytes }: { bytes: number }) => {
    let accepted = 0
    const rejected: string[] = []
    await Promise.all(
      [...running].map(async ([gatewayId, { gateway, sessions, behaviour }]) => {
        if (behaviour === 'stopped' || behaviour === 'mute') return
        const samples = [...sessions.values()]
          .filter((s) => !s.reportedEnd)
          .map((session, i) => sampleOf(session, bytes + i))
        const active_sessions = [...sessions.values()].filter((s) => !s.ended).length
        const answer = await gateway.meter(samples, { load: { active_sessions } })
        accepted += answer.accepted
        for (const name of answer.unknown_resources) rejected.push(`${gatewayId}: the resource ${name} is unknown`)
        for (const { index, error } of answer.rejected)
          rejected.push(`${gatewayId}: ${samples[index]?.session_id}: ${error}`)
      }),
    )
    return { accepted, rejected }
  },
  /** Answers when it reported last, or is about to. */
  behave: async ({ gatewayId, as }: { gatewayId: string; as: Behaviour }): Promise<number> => {
    const one = running.get(gatewayId)
    if (!one) throw new Error(`${gatewayId} does not run`)
    const before = one.behaviour
    one.behaviour = as
    if (as === 'stopped') {
      clearInterval(one.beat)
      one.stop.abort()
      await one.stopped
      await one.gateway.heartbeat({ active_sessions: one.sessions.size, version: 'sim/1' })
    } else if (before === 'stopped') {
      startPulling(one, gatewayId)
      await keepBeating(gatewayId, one)
    }
    return clock()
  },
  carried: async (_: null): Promise<Carried[]> =>
    [...running.values()].flatMap(({ sessions }) =>
      [...sessions.values()].map(({ sessionId, deviceId, gatewayId, rx, tx, ofResource, ended }) => ({
        sessionId,
        deviceId,
        gatewayId,
        rx,
        tx,
        ofResource,
        ended,
      })),
    ),
  stop: async (_: null) => {
    for (const { stop, beat } of running.values()) {
      clearInterval(beat)
      stop.abort()
    }
    await Promise.all([...running.values()].map(({ stopped }) => stopped))
  },
}
export type GatewayCommands = typeof commands

const tell = serveCommands<GatewayEvent>(commands)
