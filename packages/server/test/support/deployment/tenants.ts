import type { TestContext } from 'node:test'
import { decodeId } from '../../../src/kernel/ids.ts'
import { everything } from '../../../src/replication/changes.ts'
import type { Kit } from './deployment.ts'

export const acme = {
  operation: 'create',
  tenant: { name: 'acme', display_name: 'Acme Inc.', limits: { users: 5 } },
  administrator: { username: 'jane', email: 'jane@acme.example' },
} as const

export const janesPassword = 'correct horse battery of jane'

/** Creates a tenant through the API, with a client of its administrator. */
export async function makeTenant(kit: Kit, name: string, limits: Record<string, number> = {}) {
  const { tenant } = await kit.admin.changeTenant({
    body: {
      operation: 'create',
      tenant: { name, limits },
      administrator: { username: 'jane', password: janesPassword },
    },
  })
  const id = decodeId('tenant', tenant.tenant_id) as Kit['tenant']
  return { tenant, id, client: await kit.as('tenant_admin', id) }
}

/** A new tenant, in which the deployment's administrator has the same API rate limits as in the deployment's own. */
export async function startTenant(deployment: Kit): Promise<Kit> {
  const { db, app } = deployment
  const tenant = await deployment.newTenant()
  const { api } = await deployment.admin.getSecuritySettings()
  await db.inTenant(tenant, async (tx) => {
    const settings = tx.updateTable('tenant_settings').set({ security: JSON.stringify({ api }) })
    await settings.where('tenant_id', '=', tenant).execute()
    await app.changes.record(tx, tenant, [{ kind: 'settings', subject: everything }])
  })
  const adminKey = await deployment.keyFor('platform_admin', tenant)
  return { ...deployment, tenant, adminKey, admin: deployment.clientFor(adminKey) }
}

/** Runs parts of a test, each in a tenant of its own, as an administrator of that tenant. */
export const partsInTenants = (t: TestContext, kit: Kit) => (title: string, work: (kit: Kit) => Promise<void>) =>
  t.test(title, async () => {
    const tenant = await kit.newTenant()
    const adminKey = await kit.keyFor('tenant_admin', tenant)
    await work({ ...kit, tenant, adminKey, admin: kit.clientFor(adminKey) })
  })
