import { randomBytes } from 'node:crypto'
import { canonicalPassword, type PasswordHasher } from '@holdfast/crypto'
import type { Database, Tx } from '../../../db/database.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { day } from '../../../kernel/time.ts'
import type { Change, Changes } from '../../../replication/changes.ts'
import type { Audit } from '../../audit/index.ts'
import type { IdentityDeps } from '../deps.ts'
import { holdAdministrators, type Warning } from '../people/administrators.ts'
import type { BreakGlass } from '../people/break-glass.ts'
import { noteSetting } from '../people/credential-setters.ts'
import { passwordProblem, serviceName } from '../people/password-rules.ts'
import { storePassword } from '../people/passwords.queries.ts'
import { present, refuseStronger, requirePerson, type Subject, subjectOf } from '../people/subject.ts'
import { findUser, lockUser, type UserRow } from '../people/users.queries.ts'
import type { AdminSessions, Renewed } from '../sessions/sessions.ts'
import type { OwnPassword } from './own-password.ts'

/** `user` is a UUID. Without it, the own password is meant. */
type PasswordRequest = {
  user?: string
  new_password?: string
  generate?: boolean
  current_password?: string
  revoke_api_keys?: boolean
}
const isSame = (a: string, b: string) => canonicalPassword(a) === canonicalPassword(b)
type Method = 'own' | 'set' | 'generated'

/** Time until a generated password must be used for its first and only sign-in. */
const temporaryForMs = day

export function createPasswords(deps: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  hasher: PasswordHasher
  tenancy: Pick<IdentityDeps['tenancy'], 'settings' | 'nameOf'>
  ownPassword: OwnPassword
  sessions: Pick<AdminSessions, 'endOfUser' | 'renew'>
  breakGlass: Pick<BreakGlass, 'refuseLast'>
  keysOfUser: IdentityDeps['keysOfUser']
}) {
  const { db, audit, changes, now, hasher, tenancy, ownPassword, sessions, breakGlass, keysOfUser } = deps

  const check = (actor: Actor, { own }: Subject, found: UserRow | undefined): UserRow => {
    const user = present(found)
    if (!own) refuseStronger(actor, user)
    requirePerson(user)
    if (user.source !== 'local')
      fail(
        'validation_error',
        `${user.username} has no password on this server: change the password in the directory or at the identity provider`,
      )
    return user
  }
  /** 422 for a password that would open nothing. */
  async function requireUse(tenant: TenantId, { username, break_glass }: UserRow): Promise<void> {
    if (break_glass || !(await tenancy.settings(tenant)).login.enforce_sso) return
    fail(
      'validation_error',
      `${username} cannot sign in with a password: login.enforce_sso is on, so only break-glass users can`,
    )
  }

  /** Returns the new password, after the check that the caller may set it. */
  async function choose({ own, tenant }: Subject, user: UserRow, request: PasswordRequest) {
    const { new_password, generate = false, current_password } = request
    if (generate === (new_password !== undefined))
      failField('new_password', 'give either new_password or generate: true')
    if (own && generate) failField('generate', 'is allowed only for the password of another user')
    if (!own && current_password !== undefined) failField('current_password', 'is allowed only for your own password')
    if (new_password === undefined) return { password: randomBytes(15).toString('base64url'), generated: true }
    const forbiddenWords = [serviceName, user.username, user.email?.split('@')[0], await tenancy.nameOf(tenant)]
    const problem = await passwordProblem(new_password, {
      minLength: (await tenancy.settings(tenant)).passwords.min_length,
      mfa: user.mfa_enrolled_at !== null,
      words: forbiddenWords.filter((word) => word !== undefined),
    })
    if (problem) failField('new_password', problem)
    return { password: new_password, generated: false }
  }

  /** API keys work without the password. The caller is warned how many stay valid. */
  async function warnOfKeys(tx: Tx, { tenant, id }: Subject, username: string): Promise<Warning[]> {
    const count = await keysOfUser.countIn(tx, tenant, { tenantId: tenant, userId: id })
    if (count === 0) return []
    const message =
      `${count} API keys of ${username} still work: a new password does not end them. ` +
      `To end them: holdfast key revoke --all-of ${username}`
    return [{ code: 'api_keys_still_active', message }]
  }

  return {
    /**
     * Sets a password and ends every session of the user. The caller's own session goes on under a new id. API keys
     * stay valid unless the request revokes them. `temporary` is set for a generated password.
     */
    change: async (actor: Actor, request: PasswordRequest) => {
      const subject = subjectOf(actor, request.user)
      const { tenant, id, source, own } = subject
      const before = check(actor, subject, await db.inTenant(tenant, (tx) => findUser(tx, tenant, id)))
      await requireUse(tenant, before)
      const { password, generated } = await choose(subject, before, request)
      const replaces = own ? await ownPassword.prove(subject, before.username, request.current_password) : undefined
      if (own && request.current_password !== undefined && isSame(request.current_password, password))
        failField('new_password', 'must differ from the current password')
      const phc = await hasher.hashPassword(password)
      const endsKeys = request.revoke_api_keys === true
      const holder = { tenantId: tenant, userId: id }
      const elsewhere = endsKeys ? (await keysOfUser.endElsewhere(source, holder, undefined, 'keys')).keys : []
      return db.inTenant(tenant, async (tx) => {
        if (generated) await holdAdministrators(tx, tenant)
        const user = check(actor, subject, await lockUser(tx, tenant, id))
        // A temporary password may expire before anybody needs it.
        if (generated) await breakGlass.refuseLast(tx, tenant, user)
        const at = now()
        const expiresAt = generated ? new Date(at.getTime() + temporaryForMs) : null
        if (!(await storePassword(tx, tenant, id, { phc, mustChange: generated, expiresAt, at }, replaces)))
          failField('current_password', 'was changed by another request: use the new password')
        await noteSetting(tx, actor, tenant, id, at)
        // API keys are locked before sessions, as in every transaction that ends both.
        const revoked = endsKeys ? await keysOfUser.revokeIn(tx, source, holder, undefined) : []
        const touched: Change[] = await sessions.endOfUser(tx, source, id, own?.id ?? null)
        const terminated = touched.length
        let renewed: Renewed | undefined
        if (own) {
          renewed = await sessions.renew(tx, source, own)
          touched.push(...renewed.changes)
        }
        const user_id = encodeId('user', id)
        const method: Method = own ? 'own' : generated ? 'generated' : 'set'
        const target = { type: 'user', id: user_id, name: user.username }
        await audit.record(tx, source, 'user.password_changed', { user_id, method }, { target })
        const warnings = own || endsKeys ? [] : await warnOfKeys(tx, subject, user.username)
        await changes.record(tx, tenant, [{ kind: 'user', subject: id }, ...touched, ...revoked])
        const after = present(await findUser(tx, tenant, id))
        const keysRevoked = elsewhere.length + revoked.length
        const temporary = expiresAt && { password, expiresAt }
        return { user: after, terminated, renewed, temporary, keysRevoked, warnings }
      })
    },
  }
}
export type Passwords = ReturnType<typeof createPasswords>
