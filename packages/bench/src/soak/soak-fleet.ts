import type { PolicyDocument } from '@holdfast/contract/policy-document'
import type { Client } from '@holdfast/sdk'
import { createComplaints } from '../sim/complaints.ts'
import { planDirectory } from '../sim/directory.ts'
import { createDisplay } from '../sim/display.ts'
import { revisedDocument, stableDocument } from '../sim/documents.ts'
import { startFleet } from '../sim/fleet.ts'
import type { GatewayCommands, GatewayEvent } from '../sim/gateway-process.ts'
import { createJudge } from '../sim/judge.ts'
import { createRandom } from '../sim/random.ts'
import { type Scene, settle } from '../sim/scene.ts'
import * as setup from '../sim/setup.ts'
import { startWorker } from '../sim/worker.ts'

/** The size of the fleet, and the seed of its random choices. */
export type SoakFleetOptions = { devices: number; gateways: number; seed: number }
export type SoakFleet = Awaited<ReturnType<typeof startSoakFleet>>
/** Number of devices and users that are suspended and reactivated during the soak. */
const leaverCount = 12

/**
 * The simulator's fleet. It polls and pulls throughout; afterwards each device and gateway must hold the policy in
 * force.
 */
export async function startSoakFleet(url: string, admin: Client, { devices, gateways: count, seed }: SoakFleetOptions) {
  const random = createRandom(seed + 2)
  const directory = planDirectory(random, { devices, gateways: count })
  const complaints = createComplaints()
  const display = createDisplay(process.stdout, () => complaints.mismatches)
  const leaving = new Set<number>()
  /** Refusals of devices that were not suspended. */
  const refusedUnasked: string[] = []
  const fleet = startFleet(2, {
    complaints,
    forgives: (event) => {
      if (event.kind === 'refused' && !leaving.has(event.index)) refusedUnasked.push(`device ${event.index}`)
      return true
    },
  })
  const gateways = startWorker<GatewayCommands, GatewayEvent>('./gateway-process.ts', () => {})
  const judge = createJudge({ directory, fleet, complaints })
  await setup.createAll({ url, admin, directory, fleet, display, random })
  const stable = withoutWatched(stableDocument(random, directory))
  const published = new Map([['first', stable]])
  await admin.publishPolicy({ body: { channel: 'stable', policy: stable, note: 'first' } })
  await fleet.startPolling(directory.devices.map(({ index }) => index))
  const { tenant_id: tenantId } = await admin.me()
  await gateways.call('start', { baseUrl: url, ports: [], tenantId, gateways: directory.gateways })

  const leavers = random.some(directory.devices, leaverCount)
  const leavingUsers = random.some(directory.users, leaverCount / 3)
  for (const device of directory.devices)
    if (leavers.includes(device) || leavingUsers.some((user) => user === device.user)) leaving.add(device.index)
  const groups = directory.groups.filter(({ name }) => name !== 'legal')
  const scene: Scene = {
    options: {
      devices,
      gateways: count,
      processes: 2,
      replicas: 1,
      seed,
      kills: 0,
      boxes: false,
      outage: false,
      keep: false,
      remote: undefined,
    },
    random,
    admin,
    directory,
    fleet,
    gateways,
    judge,
    complaints,
    display,
    leaving,
    onGateways: () => () => {},
    measures: { enroll: [], digest: [], publish: [], applied: [], refused: [], lost: [] },
  }

  return {
    published,
    complaints,
    refusedUnasked,
    documentOf: (n: number): PolicyDocument => revisedDocument(stable, groups[n % groups.length]?.name ?? ''),
    leavers: [
      ...leavers.map(({ id }) => ({ kind: 'device' as const, id })),
      ...leavingUsers.map(({ id }) => ({ kind: 'user' as const, id })),
    ],
    /** Compares the policies of all devices and gateways with the one in force according to the database. */
    compare: async (now: { note: string; statusOf: (id: string) => string | undefined }): Promise<void> => {
      const document = published.get(now.note)
      if (!document) return complaints.mismatch(`the policy in force is none of ours: ${now.note}`)
      for (const user of directory.users) user.suspended = now.statusOf(user.id) !== 'active'
      for (const device of directory.devices) {
        const status = now.statusOf(device.id)
        device.status = status === 'active' || status === 'suspended' ? status : 'revoked'
      }
      await fleet.startPolling(directory.devices.map(({ index }) => index))
      await settle(scene, { stable: document, canary: undefined }, 'in the end')
    },
    stop: async () => {
      await Promise.all([fleet.stop(), gateways.stop()])
    },
  }
}

/** The document leaves out watched devices, so that the gateways' peers are only those of the fleet. */
const withoutWatched = (document: PolicyDocument): PolicyDocument => ({
  ...document,
  rules: document.rules.map((rule) =>
    rule.from.any ? { ...rule, except: { ...rule.except, tags: [...(rule.except?.tags ?? []), 'watched'] } } : rule,
  ),
})
