import type { FleetDevice } from '../devices/index.ts'

/** A walk over a fleet gives way to other work after this many devices. */
const chunk = 500

/** Calls `visit` for every device that counts, a chunk at a time. */
export async function walkFleet(
  devices: ReadonlyMap<string, FleetDevice>,
  visit: (device: FleetDevice) => void,
  onChunk?: (examined: number) => void,
): Promise<void> {
  let examined = 0
  for (const device of devices.values()) {
    if (device.usable) visit(device)
    if (++examined % chunk === 0) {
      onChunk?.(examined)
      await new Promise(setImmediate)
    }
  }
}
