import type { Client } from '@holdfast/sdk'
import { createComplaints } from './complaints.ts'
import { planDirectory, planFacts } from './directory.ts'
import { createDisplay } from './display.ts'
import { proveFactors } from './factors.ts'
import { startFleet } from './fleet.ts'
import type { GatewayCommands, GatewayEvent } from './gateway-process.ts'
import { createJudge, type InForce } from './judge.ts'
import type { Options } from './options.ts'
import { createRandom } from './random.ts'
import { type Measures, type Scene, settle, startPolling } from './scene.ts'
import * as setup from './setup.ts'
import { compareBoxes, onlyBoxes } from './story-boxes.ts'
import { outage } from './story-outage.ts'
import * as policy from './story-policy.ts'
import { closeSessions, compareSessions, meter, openSessions, tellConnected } from './story-sessions.ts'
import { stopSome } from './story-stops.ts'
import { formatSummary, type Row } from './summary.ts'
import { startWorker } from './worker.ts'

/** The URL of the server, and the ports of its replicas where they have their own. */
type Server = { url: string; ports?: readonly number[] }

/** Runs the whole story once on a running server. True if there was no mismatch and no error. */
export async function runStory(server: Server, admin: Client, options: Options): Promise<boolean> {
  const started = performance.now()
  const random = createRandom(options.seed)
  const directory = planDirectory(random, options)
  const complaints = createComplaints()
  const display = createDisplay(process.stdout, () => complaints.errors + complaints.mismatches)
  const leaving = new Set<number>()
  const fleet = startFleet(options.processes, {
    complaints,
    forgives: ({ index }) => leaving.has(index),
    ports: server.ports ?? [],
  })
  let busy = 0
  const unanswered = new Map<string, number>()
  const askedAgain = () => [
    { name: 'told to come back later', value: `${busy + fleet.turned.busy}` },
    { name: 'requests of gateways without an answer', value: `${[...unanswered.values()].reduce((a, b) => a + b, 0)}` },
    ...[...unanswered].map(([why, count]) => ({ name: `  ${why}`, value: `${count}` })),
    { name: 'requests of devices without an answer', value: `${fleet.turned.unanswered}` },
  ]
  const listeners = new Set<(event: GatewayEvent) => void>()
  const gateways = startWorker<GatewayCommands, GatewayEvent>('./gateway-process.ts', (event) => {
    if (event.kind === 'busy') busy++
    if (event.kind === 'unanswered') {
      const why = `${event.where}: ${event.message}`
      if (!unanswered.has(why)) display.line(`  a gateway had no answer, ${why}`)
      unanswered.set(why, (unanswered.get(why) ?? 0) + 1)
    }
    if (event.kind === 'error') complaints.error(`${event.where}: ${event.message}`)
    for (const listen of listeners) listen(event)
  })
  const onGateways = (listen: (event: GatewayEvent) => void) => {
    listeners.add(listen)
    return () => void listeners.delete(listen)
  }
  const measures: Measures = { enroll: [], digest: [], publish: [], applied: [], refused: [], lost: [] }
  const judge = createJudge({ directory, fleet, complaints })
  const scene: Scene = {
    options,
    random,
    admin,
    directory,
    fleet,
    gateways,
    onGateways,
    judge,
    complaints,
    display,
    measures,
    leaving,
  }
  try {
    const enrollSeconds = await setUp(scene, server)
    if (options.boxes) {
      const boxed = await onlyBoxes(scene)
      printSummary(scene, [
        { name: 'devices', value: `${directory.devices.length}` },
        { name: 'gateways', value: `${directory.gateways.length}` },
        { name: 'peers whose boxes were compared', value: `${boxed}` },
        ...askedAgain(),
        { name: 'wall time, s', value: ((performance.now() - started) / 1000).toFixed(1) },
      ])
      return complaints.mismatches + complaints.errors === 0
    }
    const stable = await policy.publishStable(scene)
    const sessions = await openSessions(scene, { stable, canary: undefined })
    await meter(scene)
    await tellConnected(scene, sessions)
    if (options.outage) {
      await outage(scene, sessions)
      printSummary(scene, [{ name: 'wall time, s', value: ((performance.now() - started) / 1000).toFixed(1) }])
      return complaints.mismatches + complaints.errors === 0
    }
    await policy.publishCanary(scene, stable)
    const revised = await policy.publishRevision(scene, stable)
    const force: InForce = { stable: revised, canary: undefined }
    await policy.changePosture(scene, force)
    await policy.changeMembers(scene, force)
    const boxed = await compareBoxes(scene, force)
    await meter(scene)
    await stopSome(scene, force)
    await closeSessions(scene, sessions)
    const carried = await compareSessions(scene)
    printSummary(scene, [
      { name: 'devices', value: `${directory.devices.length}` },
      { name: 'enrollments per second', value: (measures.enroll.length / enrollSeconds).toFixed(0) },
      { name: 'peers whose boxes were compared', value: `${boxed}` },
      { name: 'sessions', value: `${carried.sessions}` },
      { name: 'bytes metered', value: `${carried.bytes}` },
      ...askedAgain(),
      { name: 'wall time, s', value: ((performance.now() - started) / 1000).toFixed(1) },
    ])
    return complaints.mismatches + complaints.errors === 0
  } catch (error) {
    for (const line of complaints.lines) display.line(line)
    throw error
  } finally {
    await Promise.all([fleet.stop(), gateways.stop()])
  }
}

/** Prepares a fleet that has enrolled and polls, with no policy yet. Returns the seconds of enrolling. */
async function setUp(scene: Scene, { url, ports = [] }: Server): Promise<number> {
  const { admin, directory, display, fleet, gateways, measures, options, random, complaints } = scene
  await display.phase('groups, pools and gateways', 0, async () => {
    await setup.createGroups(admin, directory)
    await setup.createGateways(admin, directory)
  })
  await display.phase('users', directory.users.length, (advance) => setup.createUsers(admin, directory, advance))
  await display.phase('second factors', 0, () => proveFactors(url, admin, directory))
  const tokens = await display.phase('enrollment tokens', setup.countTokens(directory), (advance) =>
    setup.createTokens(admin, directory, advance),
  )
  const { tenant_id: tenantId } = await admin.me()
  await gateways.call('start', { baseUrl: url, ports, tenantId, gateways: directory.gateways })
  const started = performance.now()
  await display.phase('enroll', directory.devices.length, async (advance) => {
    const jobs = [...tokens].map(([device, token]) => ({ device, token }))
    const { ms, enrolled } = await fleet.enroll(url, jobs, advance)
    measures.enroll.push(...ms)
    for (const { index, id } of enrolled) {
      const device = directory.devices[index]
      if (device) device.id = id
    }
  })
  const seconds = (performance.now() - started) / 1000
  const missing = directory.devices.filter(({ id }) => id === '')
  for (const { name } of missing) complaints.mismatch(`${name}: did not enroll`)
  if (missing.length > 0) throw new Error(`${missing.length} devices did not enroll`)
  for (const device of directory.devices) if (random.chance(0.85)) device.facts = planFacts(random, Date.now())
  const reporting = directory.devices.filter(({ facts }) => facts)
  await display.phase('posture', reporting.length, (advance) =>
    fleet.reportPosture(
      reporting.map(({ index, facts }) => [index, facts ?? {}]),
      advance,
    ),
  )
  if (options.boxes) return seconds
  await startPolling(scene)
  await settle(scene, { stable: { schema: 'holdfast.policy/1', rules: [] }, canary: undefined }, 'nothing published')
  return seconds
}

function printSummary({ display, measures, complaints }: Scene, counted: Row[]): void {
  const rows: Row[] = [
    { name: 'enroll', samples: measures.enroll },
    { name: 'digest poll', samples: measures.digest },
    { name: 'publish', samples: measures.publish },
    { name: 'publish → device applied', samples: measures.applied },
    { name: 'revoke → refused', samples: measures.refused },
    { name: 'revoke → gateways', samples: measures.lost },
    ...counted,
    { name: 'unexpected errors', value: `${complaints.errors}` },
    { name: 'mismatches', value: `${complaints.mismatches}` },
  ]
  display.line(`\n${formatSummary(rows)}\n`)
  for (const line of complaints.lines) display.line(line)
}
