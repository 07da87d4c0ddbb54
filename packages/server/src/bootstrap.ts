import { randomBytes } from 'node:crypto'
import type { App } from './app.ts'
import { ConfigError } from './config/config.ts'
import { firstPasswordProblem } from './modules/identity/index.ts'

export const defaultTenant = 'default'
const username = 'admin'
export type FirstStart = { username: string; password: string; generated: boolean }

/**
 * What a deployment needs before anyone can sign in: tenant `default` with its keys, and its administrator. Returns the
 * administrator's credentials when this call made them. Run under a lock; a start that finds all of it does nothing.
 */
export async function bootstrap(app: App, adminPassword: string | undefined): Promise<FirstStart | undefined> {
  const problem = adminPassword && (await firstPasswordProblem({ username, password: adminPassword }))
  if (problem) throw new ConfigError(`HOLDFAST_ADMIN_PASSWORD ${problem}: choose another one, or leave it out.`)
  const tenant = (await app.tenancy.tenantByName(defaultTenant)) ?? (await app.tenancy.createTenant(defaultTenant))
  for (const each of await app.tenancy.listTenantIds()) await app.trust.provision(each)
  const password = adminPassword ?? randomBytes(15).toString('base64url')
  const made = await app.identity.createFirstAdmin(tenant, { username, password, role: 'platform_admin' })
  app.markReady()
  return made ? { username, password, generated: adminPassword === undefined } : undefined
}
