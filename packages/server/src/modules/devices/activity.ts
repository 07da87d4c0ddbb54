import type { Database } from '../../db/database.ts'
import { touchDevices } from './devices.queries.ts'
import type { FleetDevice } from './fleet-tenant.ts'

/** A device that polls every few seconds is written once in this time. */
const writeEveryMs = 60_000

/** Last-seen marks: kept in memory, written in batches apart from what policy depends on. */
export function createActivity({ db, now, onError }: { db: Database; now: () => Date; onError: (e: unknown) => void }) {
  const written = new Map<string, number>()
  let waiting = new Map<string, { tenant_id: string; device_id: string; at: Date }>()

  const flush = async (): Promise<void> => {
    if (waiting.size === 0) return
    const marks = [...waiting.values()]
    waiting = new Map()
    try {
      for (let i = 0; i < marks.length; i += 2000)
        await db.acrossTenants((tx) => touchDevices(tx, marks.slice(i, i + 2000)))
    } catch (e) {
      onError(e)
    }
  }

  return {
    seen: (device: FleetDevice): void => {
      const at = now()
      if (at.getTime() - (written.get(device.deviceId) ?? 0) < writeEveryMs) return
      written.set(device.deviceId, at.getTime())
      waiting.set(device.deviceId, { tenant_id: device.tenantId, device_id: device.deviceId, at })
    },
    flush,
  }
}
export type Activity = ReturnType<typeof createActivity>
