import type { Database } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { second } from '../../kernel/time.ts'
import { createWriteBehind } from '../../kernel/write-behind.ts'
import { markTrust } from './trust-coverage.queries.ts'

const withinMs = 5 * second
const statementSize = 2000

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
      behind.touch(`${tenant}/${deviceId}`, version, withinMs),
    flush: behind.flush,
  }
}
