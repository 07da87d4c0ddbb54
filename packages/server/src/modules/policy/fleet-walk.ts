import type { FleetDevice } from '../devices/index.ts'

/** A walk yields to other work after this time, in ms. The clock is read once for each `between` devices. */
const sliceMs = 5
const between = 32

/** Calls `visit` for every device that is usable, or for all, in slices of time. */
export async function walkFleet(
  devices: ReadonlyMap<string, FleetDevice>,
  visit: (device: FleetDevice) => void,
  which: 'usable' | 'all' = 'usable',
): Promise<void> {
  let examined = 0
  let until = performance.now() + sliceMs
  for (const device of devices.values()) {
    if (which === 'all' || device.usable) visit(device)
    if (++examined % between !== 0 || performance.now() < until) continue
    await new Promise(setImmediate)
    until = performance.now() + sliceMs
  }
}
