import { everything } from '../../../src/replication/changes.ts'
import type { Kit } from './deployment.ts'

/** A new tenant, in which the deployment's administrator has the same API rate limits as in the deployment's own. */
export async function tenantOf(deployment: Kit): Promise<Kit> {
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
