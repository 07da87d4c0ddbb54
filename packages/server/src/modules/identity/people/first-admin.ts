import { defaultSecuritySettings } from '@holdfast/contract/settings'
import type { Role } from '@holdfast/contract/vocabulary'
import type { PasswordHasher } from '@holdfast/crypto'
import type { Database } from '../../../db/database.ts'
import { jobSource, type TenantId } from '../../../kernel/actor.ts'
import { unlimited } from '../../../kernel/allowance.ts'
import { fail } from '../../../kernel/app-error.ts'
import { encodeId, newUuid } from '../../../kernel/ids.ts'
import type { Changes } from '../../../replication/changes.ts'
import type { Audit } from '../../audit/index.ts'
import { selectHolders } from './administrators.queries.ts'
import { passwordProblem, serviceName } from './password-rules.ts'
import { canonicalUsername } from './username.ts'
import * as queries from './users.queries.ts'

type LocalUser = {
  username: string
  password: string
  roles: readonly Role[]
  email?: string
  displayName?: string
}

/** Users that the deployment creates itself. */
export function createFirstAdmins(deps: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  hasher: PasswordHasher
}) {
  const { db, audit, changes, now, hasher } = deps

  /** Creates a local user with a password. Of two concurrent first starts only one creates it. */
  async function createUser(tenant: TenantId, user: LocalUser): Promise<{ userId: string; created: boolean }> {
    const password_phc = await hasher.hashPassword(user.password)
    const username =
      canonicalUsername(user.username).name ?? fail('internal_error', `${user.username} is not a valid username`)
    const id = newUuid()
    return db.inTenant(tenant, async (tx) => {
      const at = now()
      const row = {
        tenant_id: tenant,
        user_id: id,
        kind: 'person' as const,
        username,
        email: user.email ?? null,
        display_name: user.displayName ?? '',
        password_phc,
        created_at: at,
        updated_at: at,
      }
      if (!(await queries.insertUnlessTaken(tx, unlimited, row))) {
        const existingUser = await queries.findIdByUsername(tx, tenant, username)
        return {
          userId: existingUser ?? fail('internal_error', `the user ${username} cannot be created`),
          created: false,
        }
      }
      if (user.roles.length > 0) await queries.insertRoles(tx, tenant, id, user.roles, at)
      const user_id = encodeId('user', id)
      const more = { target: { type: 'user', id: user_id, name: username }, details: { roles: user.roles } }
      await audit.record(tx, jobSource(tenant, 'bootstrap'), 'user.changed', { operation: 'create', user_id }, more)
      await changes.record(tx, tenant, [{ kind: 'user', subject: id }])
      return { userId: id, created: true }
    })
  }

  return {
    createUser,
    /**
     * Creates the administrator of a deployment without a holder of this role. The password is requested only if it is
     * needed, before any lock. An existing account of this name gets no role, since another person may hold it.
     */
    createFirstAdmin: async (
      tenant: TenantId,
      admin: { username: string; password: () => string; role: Role },
    ): Promise<'made' | 'not_needed' | 'name_taken'> => {
      const { username, role } = admin
      const [holders, existingUser] = await db.inTenant(tenant, async (tx) => [
        await selectHolders(tx, tenant, [role]),
        await queries.findIdByUsername(tx, tenant, username),
      ])
      if (holders.length > 0) return 'not_needed'
      if (existingUser !== undefined) return 'name_taken'
      const { created } = await createUser(tenant, { username, password: admin.password(), roles: [role] })
      return created ? 'made' : 'name_taken'
    },
  }
}

/** Returns why this cannot be the first administrator's password, by the usual rules; undefined if it can. */
export const firstPasswordProblem = ({ username, password }: { username: string; password: string }) =>
  passwordProblem(password, {
    minLength: defaultSecuritySettings.passwords.min_length,
    mfa: false,
    words: [serviceName, username],
  })
