import { randomBytes } from 'node:crypto'
import type { SecuritySettings } from '@holdfast/contract/settings'
import type { PasswordHasher } from '@holdfast/crypto'
import type { Database } from '../../../db/database.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { Change, Changes } from '../../../memory/changes.ts'
import type { Audit } from '../../audit/index.ts'
import { missingUser, refuseStronger, type Subject, subjectOf } from '../people/subject.ts'
import { findUser, lockUser, type UserRow } from '../people/users.queries.ts'
import type { Renewed, Sessions } from '../sessions/sessions.ts'
import type { Attempts } from './attempts.ts'
import { passwordProblem } from './password-rules.ts'
import { findPassword, storePassword } from './passwords.queries.ts'

export type PasswordRequest = {
  user_id?: string
  new_password?: string
  generate?: boolean
  current_password?: string
}
type Method = 'own' | 'set' | 'generated'

/** How long a generated password waits for its first and only sign-in. */
const temporarySeconds = 86_400
const serviceName = 'holdfast'

export function createPasswords(deps: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  hasher: PasswordHasher
  settings: (tenant: TenantId) => SecuritySettings | Promise<SecuritySettings>
  tenantName: (tenant: TenantId) => Promise<string | undefined>
  attempts: Attempts
  sessions: Pick<Sessions, 'endOfUser' | 'renew'>
}) {
  const { db, audit, changes, now, hasher, settings, tenantName, attempts, sessions } = deps

  const check = (actor: Actor, { own }: Subject, user: UserRow | undefined): UserRow => {
    if (!user || user.deleted_at) missingUser()
    if (!own) refuseStronger(actor, user)
    if (user.source !== 'local')
      fail('validation_error', `the password of ${user.username} is kept where the account comes from`)
    return user
  }

  /** Which password it is to be, once it is clear that the caller may set it. */
  async function choose({ own, tenant }: Subject, user: UserRow, request: PasswordRequest) {
    const { new_password, generate = false, current_password } = request
    if (generate === (new_password !== undefined))
      failField('new_password', 'give either new_password or generate: true')
    if (own && generate) failField('generate', 'is for the password of someone else')
    if (!own && current_password !== undefined) failField('current_password', 'has no meaning for someone else')
    if (new_password === undefined) return { password: randomBytes(15).toString('base64url'), generated: true }
    const words = [serviceName, user.username, user.email?.split('@')[0], await tenantName(tenant)]
    const problem = await passwordProblem(new_password, {
      minLength: (await settings(tenant)).passwords.min_length,
      mfa: user.mfa_enrolled_at !== null,
      words: words.filter((word) => word !== undefined),
    })
    if (problem) failField('new_password', problem)
    return { password: new_password, generated: false }
  }

  /** The stored hash of the own password, once the current one was given rightly. */
  async function proveOwn({ source, tenant, id }: Subject, user: UserRow, request: PasswordRequest) {
    const { current_password, new_password } = request
    const phc = await db.inTenant(tenant, (tx) => findPassword(tx, tenant, id))
    if (phc === null) return null
    if (current_password === undefined) failField('current_password', 'is required to change the own password')
    const right = await attempts.pass(source, { id, username: user.username }, async () =>
      (await hasher.verifyPassword(phc, current_password)) ? true : undefined,
    )
    if (!right) failField('current_password', 'is wrong')
    if (current_password.normalize('NFC') === new_password?.normalize('NFC'))
      failField('new_password', 'is the current one')
    return phc
  }

  return {
    /**
     * Sets a password; every session of the user ends, but the one that changes its own, which goes on under a new id.
     * `temporary` is there when the password was generated.
     */
    change: async (actor: Actor, request: PasswordRequest) => {
      const subject = subjectOf(actor, request.user_id)
      const { tenant, id, source, own } = subject
      const before = check(actor, subject, await db.inTenant(tenant, (tx) => findUser(tx, tenant, id)))
      const { password, generated } = await choose(subject, before, request)
      const replaces = own ? await proveOwn(subject, before, request) : undefined
      const phc = await hasher.hashPassword(password)
      const expiresAt = generated ? new Date(now().getTime() + temporarySeconds * 1000) : null
      return db.inTenant(tenant, async (tx) => {
        const user = check(actor, subject, await lockUser(tx, tenant, id))
        const wanted = { phc, mustChange: generated, expiresAt, at: now() }
        if (!(await storePassword(tx, tenant, id, wanted, replaces)))
          failField('current_password', 'has been changed meanwhile')
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
        await changes.record(tx, tenant, [{ kind: 'user', subject: id }, ...touched])
        const after = (await findUser(tx, tenant, id)) ?? missingUser()
        return { user: after, terminated, renewed, temporary: expiresAt && { password, expiresAt } }
      })
    },
  }
}
export type Passwords = ReturnType<typeof createPasswords>
