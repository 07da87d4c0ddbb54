import type { Client } from '@holdfast/sdk'
import type { Complaints } from './complaints.ts'
import type { Directory } from './directory.ts'
import type { Display } from './display.ts'
import type { Fleet } from './fleet.ts'
import type { GatewayCommands, GatewayEvent } from './gateway-process.ts'
import type { InForce, Judge } from './judge.ts'
import type { Options } from './options.ts'
import type { Random } from './random.ts'
import type { Worker } from './worker.ts'

/** Measured times in ms, by name. */
export type Measures = {
  enroll: number[]
  digest: number[]
  publish: number[]
  applied: number[]
  refused: number[]
  lost: number[]
}

/** Everything a phase works with. */
export type Scene = {
  options: Options
  random: Random
  admin: Client
  directory: Directory
  fleet: Fleet
  gateways: Worker<GatewayCommands>
  onGateways: (listen: (event: GatewayEvent) => void) => () => void
  judge: Judge
  complaints: Complaints
  display: Display
  measures: Measures
  /** Devices whose failures are expected from now on. */
  leaving: Set<number>
}

/** Longest wait for a change to reach the whole fleet, in seconds. It is short after the first mismatch. */
export const patienceSeconds = ({ complaints, options }: Scene): number =>
  complaints.mismatches > 0 ? 3 : 20 + options.devices / 50

/** From now on every device keeps itself current. */
export const startPolling = ({ fleet, directory, display }: Scene): Promise<unknown> =>
  display.phase('devices begin to poll', directory.devices.length, (advance) =>
    fleet.startPolling(
      directory.devices.map(({ index }) => index),
      undefined,
      advance,
    ),
  )

/**
 * Waits until the whole fleet holds the policies in force. Every device then polls once more, so that none is merely
 * late. Compares all devices and gateways.
 */
export async function settle(scene: Scene, force: InForce, name: string): Promise<void> {
  const { fleet, judge, display, complaints, gateways, measures } = scene
  const keys = judge.keys(force)
  const indexes = [...keys.keys()]
  await display.phase(`${name}: devices apply`, indexes.length, (advance) =>
    fleet.awaitHeld(indexes, patienceSeconds(scene), (_, index) => judge.keyOfHeld(index) === keys.get(index), advance),
  )
  await display.phase(`${name}: every device asks again`, indexes.length, async (advance) => {
    measures.digest.push(...(await fleet.poll(indexes, advance)))
  })
  judge.devices(force)
  await display.phase(`${name}: gateways follow`, 0, async () => {
    const wanted = judge.peers(force)
    const differences = await gateways.call('awaitPeers', { wanted, seconds: patienceSeconds(scene) })
    for (const text of differences) complaints.mismatch(text)
  })
}
