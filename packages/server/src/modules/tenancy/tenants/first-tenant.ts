import { randomBytes } from 'node:crypto'
import type { Database } from '../../../db/database.ts'
import { jobSource, type TenantId } from '../../../kernel/actor.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { Audit } from '../../audit/index.ts'
import { newTenantId } from '../tenant-id.ts'
import { findTenantByName, insertTenant } from './tenants.queries.ts'

/**
 * Returns the tenant of this name, which the deployment makes if there is none. Two concurrent first starts agree on
 * one.
 */
export const createFirstTenant =
  ({ db, audit, now }: { db: Database; audit: Audit; now: () => Date }) =>
  async (name: string): Promise<TenantId> => {
    const tenant = newTenantId()
    const made = await db.inTenant(tenant, async (tx) => {
      const at = now()
      const row = { tenant_id: tenant, name, canary_salt: randomBytes(16), created_at: at, updated_at: at }
      if (!(await insertTenant(tx, row))) return false
      const tenant_id = encodeId('tenant', tenant)
      const target = { type: 'tenant', id: tenant_id, name }
      const fields = { operation: 'create', tenant_id }
      await audit.record(tx, jobSource(tenant, 'bootstrap'), 'tenant.changed', fields, { target })
      return true
    })
    if (made) return tenant
    const existing = await db.acrossTenants((tx) => findTenantByName(tx, name))
    if (!existing) throw new Error(`tenant ${name} exists but cannot be read`)
    return existing
  }
