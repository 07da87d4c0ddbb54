import { randomBytes } from 'node:crypto'
import { ConfigError } from '../config/config.ts'
import type { Secrets } from '../config/secrets.ts'
import type { TenantId } from '../kernel/actor.ts'
import { breakGlassUsername, firstPasswordProblem, listOfEnded } from '../modules/identity/index.ts'
import type { App } from './create-app.ts'

const defaultTenant = 'default'
const username = 'admin'
/** Logs a warning for the operator. */
type Warn = (text: string) => void
export type FirstStart = { username: string; password: string; generated: boolean }

/**
 * Creates everything that sign-in needs: tenant `default` with its keys, and its administrator. The password is
 * announced before it is stored, so that no unseen password is ever valid. Each step can be repeated: the next start
 * completes an interrupted one, and of several concurrent starts one makes each step.
 */
export async function bootstrap(
  app: App,
  secrets: Pick<Secrets, 'adminPassword' | 'breakGlassPassword'>,
  announce: (first: FirstStart) => void,
  warn: Warn = () => {},
): Promise<void> {
  const { adminPassword } = secrets
  const problem = adminPassword && (await firstPasswordProblem({ username, password: adminPassword }))
  if (problem)
    throw new ConfigError(`HOLDFAST_ADMIN_PASSWORD ${problem}. Choose another password, or remove the variable.`)
  const tenant = (await app.tenancy.tenantByName(defaultTenant)) ?? (await app.tenancy.createTenant(defaultTenant))
  await app.trust.provision(tenant)
  await app.tenancy.loadLicense(tenant)
  const first = await app.identity.createFirstAdmin(tenant, {
    username,
    role: 'platform_admin',
    password: () => {
      const password = adminPassword ?? randomBytes(15).toString('base64url')
      announce({ username, password, generated: adminPassword === undefined })
      return password
    },
  })
  if (first === 'name_taken')
    warn(
      `Nobody has the role platform_admin, and the name ${username} belongs to another account. To get access, set HOLDFAST_BREAK_GLASS_PASSWORD and start again.`,
    )
  if (secrets.breakGlassPassword !== undefined) await recover(app, tenant, secrets.breakGlassPassword, warn)
  app.markReady()
}

/** Recovery: makes a break-glass user with this password able to sign in, independent of all other accounts. */
async function recover(app: App, tenant: TenantId, password: string, warn: Warn): Promise<void> {
  const name = 'HOLDFAST_BREAK_GLASS_PASSWORD'
  const problem = await firstPasswordProblem({ username: breakGlassUsername, password })
  if (problem) throw new ConfigError(`${name} ${problem}. Choose another password, or remove the variable.`)
  const user = { username: breakGlassUsername, password, role: 'platform_admin' } as const
  const { ended, movedTo } = await app.identity.recover(tenant, user)
  if (movedTo !== undefined)
    warn(`The account ${breakGlassUsername} cannot have a password, so it was renamed to ${movedTo}.`)
  const list = listOfEnded(ended)
  if (list !== '')
    warn(
      `${name} set the password of the account ${breakGlassUsername}. Its earlier credentials were revoked: ${list}.`,
    )
}
