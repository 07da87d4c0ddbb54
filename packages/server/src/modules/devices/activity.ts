import type { Database } from '../../db/database.ts'
import { createWriteBehind } from '../../kernel/write-behind.ts'
import { touchDevices } from './devices.queries.ts'
import type { FleetDevice } from './fleet-device.ts'

/** Minimum time between two writes for one device, in ms. */
const withinMs = 30_000
const statementSize = 2000

/** Times at which devices were last seen. Written in batches, separate from the data that policies depend on. */
export function createDeviceActivity({ db, onError }: { db: Database; onError: (e: unknown) => void }) {
  const behind = createWriteBehind({
    onError,
    maxBatch: statementSize,
    write: async (batch) => {
      const marks = [...batch].map(([key, at]) => {
        const [tenant_id = '', device_id = ''] = key.split('/')
        return { tenant_id, device_id, at }
      })
      await db.acrossTenants((tx) => touchDevices(tx, marks))
    },
  })
  return {
    seen: (device: FleetDevice, at: Date): void => {
      if (at.getTime() - device.seenAt < withinMs) return
      device.seenAt = at.getTime()
      behind.touch(`${device.tenantId}/${device.deviceId}`, at, withinMs)
    },
    flush: behind.flush,
  }
}
