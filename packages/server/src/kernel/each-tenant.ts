import type { TenantId } from './actor.ts'
import { AppError } from './app-error.ts'

/** The tenant was deleted meanwhile. Late work for it changes nothing. */
export class TenantGone extends AppError {
  constructor() {
    super('not_found', 'no such tenant')
  }
}

/**
 * Runs work for one tenant after the other. A failure for one does not stop the others; the first one is thrown at the
 * end. Tenants that were deleted meanwhile are skipped.
 */
export async function eachTenant(
  tenants: Iterable<TenantId>,
  work: (tenant: TenantId) => Promise<unknown>,
): Promise<void> {
  const failures: unknown[] = []
  for (const tenant of tenants)
    await work(tenant).catch((e: unknown) => {
      if (!(e instanceof TenantGone)) failures.push(e)
    })
  if (failures.length > 0) throw failures[0]
}

/**
 * Runs work for the rows of batches of all tenants, by tenant. A failure for one stops neither the others nor the later
 * batches.
 */
export async function eachTenantOf<Row extends { tenant_id: TenantId }>(
  batches: AsyncIterable<readonly Row[]>,
  work: (tenant: TenantId, rows: readonly Row[]) => Promise<unknown>,
): Promise<void> {
  const failures: unknown[] = []
  for await (const rows of batches) {
    const byTenant = Map.groupBy(rows, (row) => row.tenant_id)
    await eachTenant(byTenant.keys(), (tenant) => work(tenant, byTenant.get(tenant) ?? [])).catch((e: unknown) => {
      failures.push(e)
    })
  }
  if (failures.length > 0) throw failures[0]
}
