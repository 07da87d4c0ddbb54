import { randomBytes } from 'node:crypto'
import { defaultSecuritySettings } from '@holdfast/contract/settings'
import type { PasswordHasher } from '@holdfast/crypto'
import type { Tx } from '../../../db/database.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { unlimited } from '../../../kernel/allowance.ts'
import { failField } from '../../../kernel/app-error.ts'
import { encodeId, newUuid } from '../../../kernel/ids.ts'
import { day } from '../../../kernel/time.ts'
import type { Audit } from '../../audit/index.ts'
import { noteSetting } from './credential-setters.ts'
import { canonicalEmail } from './email.ts'
import { newUsername } from './new-username.ts'
import { passwordProblem, serviceName } from './password-rules.ts'
import { insertRoles, insertUser } from './users.queries.ts'

type Given = { username: string; email?: string; display_name?: string; password?: string }
/** Time until a temporary password must be used for its first and only sign-in. */
const temporaryForMs = 7 * day

/**
 * First administrator of a tenant that is about to be created. The usual rules for usernames and passwords apply.
 * `temporary` is a generated password that must be changed at the first sign-in.
 */
export const createTenantAdministrators =
  ({ audit, now, hasher }: { audit: Audit; now: () => Date; hasher: PasswordHasher }) =>
  async (tenantName: string, administratorInput: Given) => {
    const { name: username, problem } = newUsername(administratorInput.username)
    if (username === undefined) return failField('administrator.username', problem)
    const email = administratorInput.email === undefined ? null : canonicalEmail(administratorInput.email)
    if (email === undefined) return failField('administrator.email', 'contains invisible characters: remove them')
    const forbiddenWords = [serviceName, username, tenantName, ...(email ? [email.split('@')[0] ?? ''] : [])]
    const minLength = defaultSecuritySettings.passwords.min_length
    const weak =
      administratorInput.password !== undefined &&
      (await passwordProblem(administratorInput.password, { minLength, mfa: false, words: forbiddenWords }))
    if (weak) return failField('administrator.password', weak)
    const password = administratorInput.password ?? randomBytes(15).toString('base64url')
    const expiresAt = administratorInput.password === undefined ? new Date(now().getTime() + temporaryForMs) : null
    const password_phc = await hasher.hashPassword(password)

    return {
      temporary: expiresAt && { password, expiresAt },
      write: async (tx: Tx, by: Actor) => {
        const { tenantId } = by
        const at = now()
        const userId = newUuid()
        await insertUser(tx, unlimited, {
          tenant_id: tenantId,
          user_id: userId,
          kind: 'person',
          username,
          email,
          display_name: administratorInput.display_name ?? '',
          password_phc,
          password_must_change: expiresAt !== null,
          password_expires_at: expiresAt,
          created_at: at,
          updated_at: at,
        })
        await insertRoles(tx, tenantId, userId, ['tenant_admin'], at)
        await noteSetting(tx, by, tenantId, userId, at)
        const user_id = encodeId('user', userId)
        const more = { target: { type: 'user', id: user_id, name: username }, details: { roles: ['tenant_admin'] } }
        await audit.record(tx, by, 'user.changed', { operation: 'create', user_id }, more)
        return { userId, username }
      },
    }
  }
