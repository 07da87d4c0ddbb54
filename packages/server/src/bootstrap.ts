import { randomBytes } from 'node:crypto'
import type { App } from './app.ts'
import { ConfigError } from './config/config.ts'
import { firstPasswordProblem } from './modules/identity/index.ts'

const defaultTenant = 'default'
const username = 'admin'
export type FirstStart = { username: string; password: string; generated: boolean }

/**
 * What a deployment needs before anyone can sign in: tenant `default` with its keys, and its administrator, whose
 * password is announced before it holds, so that none holds that nobody saw. Each step can be made again: a start that
 * was killed anywhere is finished by the next one, and of several at once each step is made by one.
 */
export async function bootstrap(
  app: App,
  adminPassword: string | undefined,
  announce: (first: FirstStart) => void,
): Promise<void> {
  const problem = adminPassword && (await firstPasswordProblem({ username, password: adminPassword }))
  if (problem) throw new ConfigError(`HOLDFAST_ADMIN_PASSWORD ${problem}: choose another one, or leave it out.`)
  const tenant = (await app.tenancy.tenantByName(defaultTenant)) ?? (await app.tenancy.createTenant(defaultTenant))
  await app.trust.provision(tenant)
  await app.identity.createFirstAdmin(tenant, {
    username,
    role: 'platform_admin',
    password: () => {
      const password = adminPassword ?? randomBytes(15).toString('base64url')
      announce({ username, password, generated: adminPassword === undefined })
      return password
    },
  })
  app.markReady()
}
