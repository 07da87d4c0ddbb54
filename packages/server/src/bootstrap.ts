import { randomBytes } from 'node:crypto'
import type { App } from './app.ts'

export const defaultTenant = 'default'
export type FirstStart = { username: string; password: string; generated: boolean }

/**
 * What a deployment needs before anyone can sign in: tenant `default` with its keys, and its administrator. Returns the
 * administrator's credentials when this call made them. Run under a lock; a start that finds all of it does nothing.
 */
export async function bootstrap(app: App, adminPassword: string | undefined): Promise<FirstStart | undefined> {
  const tenant = (await app.tenancy.tenantByName(defaultTenant)) ?? (await app.tenancy.createTenant(defaultTenant))
  for (const each of await app.tenancy.listTenantIds()) await app.trust.provision(each)
  const password = adminPassword ?? randomBytes(15).toString('base64url')
  const made = await app.identity.createFirstAdmin(tenant, { username: 'admin', password, role: 'platform_admin' })
  app.markReady()
  return made ? { username: 'admin', password, generated: adminPassword === undefined } : undefined
}
