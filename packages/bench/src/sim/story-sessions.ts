import { isUsable } from './directory.ts'
import type { InForce } from './judge.ts'
import { patienceSeconds, type Scene } from './scene.ts'

type Open = { index: number; gatewayId: string; sessionId: string }

/**
 * Connects every device that may connect, through one of the gateways that it is offered. The gateways meter the
 * traffic.
 */
export async function openSessions(scene: Scene, force: InForce): Promise<Open[]> {
  const { random, directory, fleet, gateways, judge, complaints, display } = scene
  return display.phase('sessions: open', 0, async () => {
    const usable = directory.devices.filter(isUsable)
    const offers = await fleet.gateways(usable.map(({ index }) => index))
    const wanted = judge.peers(force)
    const allowed = new Map<string, Set<string>>()
    for (const { gatewayId, peers } of wanted)
      for (const [deviceId] of peers) allowed.set(deviceId, (allowed.get(deviceId) ?? new Set()).add(gatewayId))
    const choices: { index: number; deviceId: string; gatewayId: string }[] = []
    for (const { index, gatewayIds } of offers.sort((a, b) => a.index - b.index)) {
      const deviceId = directory.devices[index]?.id ?? ''
      const expected = allowed.get(deviceId) ?? new Set()
      if (expected.symmetricDifference(new Set(gatewayIds)).size > 0)
        complaints.mismatch(
          `device ${index} ${deviceId}: expected the offer of ${expected.size} gateways, got ${gatewayIds.length}`,
        )
      if (gatewayIds.length > 0) choices.push({ index, deviceId, gatewayId: random.pick(gatewayIds) })
    }
    const opened = await gateways.call('openSessions', {
      devices: choices.map(({ deviceId, gatewayId }) => ({ deviceId, gatewayId })),
    })
    const open = choices.flatMap(({ index, deviceId, gatewayId }, i): Open[] => {
      const sessionId = opened[i]?.sessionId
      if (sessionId) return [{ index, gatewayId, sessionId }]
      complaints.mismatch(`device ${index} ${deviceId}: was offered ${gatewayId}, which did not let it in`)
      return []
    })
    return open
  })
}

/** Devices report sessions that their gateways have reported. */
export const tellConnected = ({ fleet, display }: Scene, sessions: readonly Open[]): Promise<void> =>
  display.phase('sessions: devices tell', sessions.length, async (advance) => {
    await fleet.tellSessions(sessions.map((session) => ({ ...session, kind: 'connected' })))
    advance(sessions.length)
  })

export async function meter({ gateways, complaints, display, random }: Scene): Promise<void> {
  await display.phase('sessions: meter', 0, async () => {
    const { rejected } = await gateways.call('meter', { bytes: random.between(1_000, 1_000_000) })
    for (const text of rejected) complaints.mismatch(`metering refused ${text}`)
  })
}

/** Ends some sessions by their devices and some by an administrator; the others go on. Then the last report is sent. */
export async function closeSessions(scene: Scene, sessions: Open[]): Promise<void> {
  const { random, fleet, gateways, admin, leaving, complaints, display } = scene
  const alive = new Set(
    (await gateways.call('carried', null)).filter((s) => !s.ended).map(({ sessionId }) => sessionId),
  )
  const open = sessions.filter(({ sessionId, index }) => alive.has(sessionId) && !leaving.has(index))
  const hanging = random.some(open, Math.ceil(open.length / 2))
  await display.phase('sessions: devices hang up', hanging.length, async (advance) => {
    await gateways.call('endSessions', { sessionIds: hanging.map(({ sessionId }) => sessionId) })
    await fleet.tellSessions(hanging.map((session) => ({ ...session, kind: 'disconnected' })))
    advance(hanging.length)
  })
  const cut = random
    .some(
      open.filter((session) => !hanging.includes(session)),
      10,
    )
    .map(({ sessionId }) => sessionId)
  await display.phase('sessions: an administrator cuts', cut.length, async (advance) => {
    const { matched, terminated } = await admin.terminateSessions({
      body: { operation: 'terminate', session_ids: cut, reason: 'sim', block_seconds: 0 },
    })
    if (matched !== cut.length || terminated !== cut.length)
      complaints.mismatch(`terminate: expected ${cut.length}, got ${matched} matched and ${terminated} terminated`)
    for (const id of await gateways.call('awaitCut', { sessionIds: cut, seconds: patienceSeconds(scene) }))
      complaints.mismatch(`${id}: terminated, but its gateway did not hear of it`)
    advance(cut.length)
  })
  await meter(scene)
}

/**
 * Compares the server's bytes of every session with those that its gateway carried, to the byte. Returns the number of
 * sessions and the sum.
 */
export async function compareSessions({
  admin,
  gateways,
  complaints,
  display,
  random,
}: Scene): Promise<{ sessions: number; bytes: number }> {
  const carried = new Map((await gateways.call('carried', null)).map((session) => [session.sessionId, session]))
  // Bytes per resource are only shown for a single session.
  const sampled = random.some([...carried.values()], 200)
  return display.phase('sessions: bytes add up', carried.size, async (advance) => {
    let bytes = 0
    let sessions = 0
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query = { state: 'all' as const, limit: 200, ...(cursor && { cursor }) }
      const page: Awaited<ReturnType<typeof admin.listSessions>> = await admin.listSessions({ query })
      for (const seen of page.items) {
        const own = carried.get(seen.session_id)
        if (!own) continue
        carried.delete(seen.session_id)
        sessions++
        bytes += own.rx + own.tx
        advance()
        if (seen.rx_bytes !== own.rx || seen.tx_bytes !== own.tx)
          complaints.mismatch(
            `${seen.session_id}: expected ${own.rx} / ${own.tx} bytes, got ${seen.rx_bytes} / ${seen.tx_bytes}`,
          )
        const state = own.ended ? 'ended' : 'active'
        if (seen.state !== state) complaints.mismatch(`${seen.session_id}: expected ${state}, got ${seen.state}`)
        if (seen.device_id !== own.deviceId || seen.gateway_id !== own.gatewayId)
          complaints.mismatch(`${seen.session_id}: of another device or gateway`)
      }
      cursor = page.next_cursor
    }
    for (const id of carried.keys()) complaints.mismatch(`${id}: the server does not know this session`)
    for (const { sessionId, ofResource } of sampled) {
      const { resources } = await admin.getSession({ params: { session_id: sessionId } })
      const got = resources.map((r) => `${r.resource} ${r.rx_bytes + r.tx_bytes}`).join()
      if (got !== `git ${ofResource}`) complaints.mismatch(`${sessionId}: expected git ${ofResource}, got ${got}`)
    }
    return { sessions, bytes }
  })
}
