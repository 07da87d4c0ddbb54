import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ConnectionVerdict } from '@holdfast/contract/connection-truth'
import { clock } from './in-parallel.ts'
import type { Scene } from './scene.ts'
import { mintSessionId } from './session-id.ts'
import { meter } from './story-sessions.ts'

type Open = { index: number; gatewayId: string; sessionId: string }
type Doubtful = Exclude<ConnectionVerdict, 'consistent'>

/** A status may be noticed so late: seconds. */
const slack = 3
/** The sweep that judges runs every minute. */
const judgedWithin = 75

/** Stops and restarts a gateway; then gateways and devices report false session state, one after the other. */
export async function outage(scene: Scene, sessions: readonly Open[]): Promise<void> {
  const byGateway = Map.groupBy(sessions, (s) => s.gatewayId)
  const shared = scene.directory.gateways.filter(
    ({ id, pool }) => byGateway.has(id) && scene.directory.gateways.some((g) => g.pool === pool && g.id !== id),
  )
  const gatewayId = shared.toSorted((a, b) => byGateway.get(b.id)!.length - byGateway.get(a.id)!.length)[0]?.id
  if (!gatewayId) throw new Error('no gateway with sessions shares its pool: ask for more gateways')
  await stopAndStart(scene, gatewayId, byGateway.get(gatewayId) ?? [])
  await lie(scene, gatewayId, byGateway.get(gatewayId) ?? [])
}

const healthOf = async ({ admin }: Scene, gatewayId: string) => {
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Awaited<ReturnType<typeof admin.gatewayHealth>> = await admin.gatewayHealth({
      query: { limit: 200, ...(cursor && { cursor }) },
    })
    const found = page.items.find((g) => g.gateway_id === gatewayId)
    if (found) return found
    cursor = page.next_cursor
  }
  throw new Error(`${gatewayId} is not in the health of the fleet`)
}

async function stopAndStart(scene: Scene, gatewayId: string, on: readonly Open[]): Promise<void> {
  const { admin, complaints, directory, display, fleet, gateways } = scene
  const expect = (isSo: boolean, what: string) => isSo || complaints.mismatch(`${gatewayId}: ${what}`)
  const turns: string[] = []
  const follow = async (until: (status: string) => boolean, seconds: number, since: number): Promise<number> => {
    for (;;) {
      const { status } = await healthOf(scene, gatewayId)
      if (turns.at(-1) !== status) turns.push(status)
      const after = (clock() - since) / 1000
      if (until(status) || after > seconds) return after
      await sleep(250)
    }
  }
  const stoppedAt = await gateways.call('behave', { gatewayId, as: 'stopped' })
  await display.phase('a gateway stops: degraded after 30 s, down after 60 s', 0, async () => {
    const degraded = await follow((s) => s === 'degraded', 40, stoppedAt)
    expect(Math.abs(degraded - 30) < slack, `degraded after ${degraded.toFixed(1)} s`)
    const down = await follow((s) => s === 'down', 70, stoppedAt)
    expect(Math.abs(down - 60) < slack, `down after ${down.toFixed(1)} s`)
    display.line(`  degraded after ${degraded.toFixed(1)} s, down after ${down.toFixed(1)} s`)
  })
  const indexes = on.map(({ index }) => index)
  const positions = async () => {
    const rivals = new Set(directory.gateways.filter((g) => g.pool === poolOf(scene, gatewayId)).map(({ id }) => id))
    const offers = await fleet.gateways(indexes)
    return offers.map(({ gatewayIds }) => gatewayIds.filter((id) => rivals.has(id)).indexOf(gatewayId))
  }
  await display.phase('impact lists exactly its devices, and it is offered to none', on.length, async (advance) => {
    const listed: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Awaited<ReturnType<typeof admin.gatewayImpact>> = await admin.gatewayImpact({
        params: { gateway_id: gatewayId },
        query: { limit: 200, ...(cursor && { cursor }) },
      })
      for (const device of page.items) {
        listed.push(device.device_id)
        expect(device.outcome === 'stuck', `${device.device_id} is ${device.outcome}, expected stuck`)
      }
      if (page.counts) expect(page.counts.devices === on.length, `impact counts ${page.counts.devices} devices`)
      cursor = page.next_cursor
    }
    const missing = new Set(on.map(({ index }) => directory.devices[index]?.id ?? '')).symmetricDifference(
      new Set(listed),
    )
    for (const id of missing) expect(false, `${id} is listed, or on it, and not both`)
    expect(
      (await positions()).every((at) => at === -1),
      'is offered although it is down',
    )
    advance(on.length)
  })
  await display.phase('it comes back, and nobody is sent to it first', 0, async () => {
    const startedAt = await gateways.call('behave', { gatewayId, as: 'honest' })
    await follow(() => false, 15, startedAt)
    expect(turns.join() === 'healthy,degraded,down,healthy', `went through ${turns.join()}`)
    expect((await healthOf(scene, gatewayId)).stands_by_until !== null, 'does not stand by')
    expect(
      (await positions()).every((at) => at !== 0),
      'is the first choice as soon as it is back',
    )
  })
}

const poolOf = ({ directory }: Scene, gatewayId: string) => directory.gateways.find(({ id }) => id === gatewayId)?.pool

/** Waits for the verdict on a device's connection, and for the alert. */
async function awaitFound(
  scene: Scene,
  { deviceId, gatewayId }: { deviceId: string; gatewayId: string },
  verdict: Doubtful,
  seconds: number,
): Promise<void> {
  const { admin, complaints, display } = scene
  const until = clock() + seconds * 1000
  const truth = async () => (await admin.connectionTruth({ query: { device_id: deviceId, verdict } })).items[0]
  const alert = async () =>
    (await admin.listNotifications({ query: { kind: `connection.${verdict}` } })).items.find(
      ({ subject }) => subject.id === gatewayId,
    )?.title
  for (;;) {
    const [found, told] = [await truth(), await alert()]
    if (found && told) {
      display.line(`  ${verdict}: ${found.disagreements.map((d) => d.field).join(', ')}; alert: ${told}`)
      return
    }
    if (clock() > until)
      return complaints.mismatch(`${deviceId}: expected ${verdict}, got ${found?.verdict} and ${told}`)
    await sleep(1000)
  }
}

async function lie(scene: Scene, gatewayId: string, on: readonly Open[]): Promise<void> {
  const { admin, directory, display, fleet, gateways, leaving } = scene
  const idOf = ({ index }: Open) => directory.devices[index]?.id ?? ''
  const [revoked, liar, unmetered] = on
  if (!revoked || !liar || !unmetered) throw new Error('too few devices on the gateway: ask for more')
  await display.phase('a gateway goes on with a revoked device', 0, async () => {
    await gateways.call('behave', { gatewayId, as: 'deaf' })
    await meter(scene)
    leaving.add(revoked.index)
    await admin.changeDevice({ body: { operation: 'revoke', device_id: idOf(revoked), reason: 'sim' } })
    await sleep(7000)
    await meter(scene)
    await awaitFound(scene, { deviceId: idOf(revoked), gatewayId }, 'unauthorized', judgedWithin)
  })
  await display.phase('a device claims a session that no gateway has', 0, async () => {
    const sessionId = mintSessionId(Date.now(), randomBytes(16))
    const other = directory.gateways.find(({ id }) => id !== gatewayId)?.id ?? ''
    const told = { index: liar.index, gatewayId: other, sessionId, kind: 'connected', isLie: true } as const
    await fleet.tellSessions([told])
    await meter(scene)
    await awaitFound(scene, { deviceId: idOf(liar), gatewayId: other }, 'conflict', 90 + judgedWithin)
  })
  await display.phase('metering stops', 0, async () => {
    await gateways.call('behave', { gatewayId, as: 'mute' })
    await awaitFound(scene, { deviceId: idOf(unmetered), gatewayId }, 'stale', 150 + judgedWithin)
  })
}
