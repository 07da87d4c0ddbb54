import type { Database } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { second } from '../../kernel/time.ts'
import { createWriteBehind } from '../../kernel/write-behind.ts'
import { touchDevices } from './devices.queries.ts'
import type { FleetDevice } from './fleet-device.ts'
import { markTrust } from './trust-coverage.queries.ts'

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

/** Minimum time between two writes of the trust set of one device, in ms. */
const trustWithinMs = 5 * second

/** Newest trust set fetched by each device. Written in batches, separate from the data that policies depend on. */
export function createTrustMarks({ db, onError }: { db: Database; onError: (e: unknown) => void }) {
  const behind = createWriteBehind<number>({
    onError,
    maxBatch: statementSize,
    write: async (batch) => {
      const marks = [...batch].map(([key, version]) => {
        const [tenant_id = '', device_id = ''] = key.split('/')
        return { tenant_id, device_id, version }
      })
      await db.acrossTenants((tx) => markTrust(tx, marks))
    },
  })
  return {
    fetched: (tenant: TenantId, deviceId: string, version: number): void =>
      behind.touch(`${tenant}/${deviceId}`, version, trustWithinMs),
    flush: behind.flush,
  }
}
