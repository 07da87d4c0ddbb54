import type { TenantId } from './actor.ts'
import { AppError } from './app-error.ts'

/** The tenant was deleted meanwhile: what comes late for it changes nothing. */
export class TenantGone extends AppError {
  constructor() {
    super('not_found', 'no such tenant')
  }
}

/**
 * Work that visits tenants, one after the other: what fails for one stops no other, and is thrown at the end. One that
 * is gone meanwhile is passed over.
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
