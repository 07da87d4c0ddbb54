import type { Database } from '../../db/database.ts'
import { createWriteBehind } from '../../kernel/write-behind.ts'
import { touchDevices } from './devices.queries.ts'
import type { FleetDevice } from './fleet-device.ts'

/** A device that polls every few seconds is written once in this time. */
const withinMs = 30_000
const statementSize = 2000

/** When devices were last seen: written in batches, apart from what policy depends on. */
export function createActivity({ db, onError }: { db: Database; onError: (e: unknown) => void }) {
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
