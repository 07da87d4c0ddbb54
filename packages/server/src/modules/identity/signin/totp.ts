import { mintTotpSeed, provisioningUri } from '@holdfast/crypto'
import type { Database, Tx } from '../../../db/database.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { minute } from '../../../kernel/time.ts'
import type { Change, Changes } from '../../../replication/changes.ts'
import type { Audit } from '../../audit/index.ts'
import type { IdentityDeps } from '../deps.ts'
import { noteSetting } from '../people/credential-setters.ts'
import { present, refuseStronger, requirePerson, type Subject, subjectOf } from '../people/subject.ts'
import { findUser, lockUser, type UserRow } from '../people/users.queries.ts'
import type { AdminSessions, Renewed } from '../sessions/sessions.ts'
import type { SignInAttempts } from './attempts.ts'
import type { OwnPassword } from './own-password.ts'
import * as queries from './second-factor.queries.ts'
import type { Proof, SecondFactor } from './second-factor.ts'

const pendingForMs = 10 * minute
const issuer = 'Holdfast'
const notStarted = 'cannot be verified: start the TOTP enrollment first'

/** Credentials that the owner shows to remove a factor. Ignored if another person removes it. */
type Shown = { current_password?: string; code?: string; recovery_code?: string }

type TotpDeps = {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  factor: SecondFactor
  attempts: SignInAttempts
  ownPassword: OwnPassword
  sessions: Pick<AdminSessions, 'endOfUser' | 'renew'>
  tenancy: Pick<IdentityDeps['tenancy'], 'nameOf'>
}

/** Enrollment and removal of second factors. */
export function createTotp(deps: TotpDeps) {
  const { db, audit, changes, now, factor, attempts, ownPassword, sessions, tenancy } = deps

  const hold = async (tx: Tx, actor: Actor, { tenant, id, own }: Subject): Promise<UserRow> => {
    const user = present(await lockUser(tx, tenant, id))
    if (!own) refuseStronger(actor, user)
    requirePerson(user)
    return user
  }
  const targetOf = (user: UserRow) => ({ type: 'user', id: encodeId('user', user.user_id), name: user.username })
  const accountOf = async (tenant: TenantId, username: string) => {
    const name = await tenancy.nameOf(tenant)
    return name === undefined || name === 'default' ? username : `${name}/${username}`
  }

  /** Checks the password, or requires a fresh sign-in if the account has no password here. */
  async function proveOwner(subject: Subject, password: string | undefined): Promise<void> {
    if (!subject.own) return
    if ((await ownPassword.prove(subject, subject.own.name, password)) === null) ownPassword.requireFresh(subject)
  }

  /** Checks a code of the factor to remove. Undefined if there is no factor. */
  async function proveFactor(subject: Subject, { code = '', recovery_code = '' }: Shown): Promise<Proof | undefined> {
    const { tenant, id, source } = subject
    const user = present(await db.inTenant(tenant, (tx) => findUser(tx, tenant, id)))
    const seed = await db.inTenant(tenant, (tx) => queries.findSeed(tx, tenant, id))
    if (seed === undefined) return undefined
    if (code === '' && recovery_code === '') failField('code', 'is required to disable your own authenticator app')
    const factorInput = { totp: code, recoveryCode: recovery_code }
    const proof = await attempts.pass(source, { id, username: user.username }, () =>
      factor.match(tenant, id, seed, factorInput),
    )
    return proof ?? failField('code', 'is not the current code')
  }

  return {
    /** True if a person who enrolls a factor of their own must show a password. */
    asksPassword: (actor: Actor): Promise<boolean> => ownPassword.isThere(subjectOf(actor, undefined)),

    /** Stores a pending seed, which a code must confirm. Starting again replaces it. */
    enroll: async (actor: Actor, userId: string | undefined, password: string | undefined) => {
      const subject = subjectOf(actor, userId)
      const { tenant, id, source } = subject
      await proveOwner(subject, password)
      const seed = mintTotpSeed()
      const seed_jwe = await factor.sealSeed(id, seed)
      const { user, expiresAt } = await db.inTenant(tenant, async (tx) => {
        const user = await hold(tx, actor, subject)
        const expiresAt = new Date(now().getTime() + pendingForMs)
        if (!(await queries.insertPendingSeed(tx, tenant, id, { seed_jwe, expires_at: expiresAt })))
          fail('validation_error', `${user.username} already has a second factor: disable it first`)
        const user_id = encodeId('user', id)
        await audit.record(tx, source, 'user.mfa_enrollment_started', { user_id }, { target: targetOf(user) })
        return { user, expiresAt }
      })
      const account = await accountOf(tenant, user.username)
      return { uri: provisioningUri({ seed, issuer, account }), seed, expiresAt }
    },

    /**
     * Makes the pending seed the second factor. Other sessions of the user end. The confirming session goes on under a
     * new id. It is not stepped up, since that needs a code of an existing factor.
     */
    verify: async (actor: Actor, userId: string | undefined, code: string) => {
      const subject = subjectOf(actor, userId)
      const { tenant, id, source, own } = subject
      const seed = await db.inTenant(tenant, async (tx) => {
        await hold(tx, actor, subject)
        return queries.findPending(tx, tenant, id, now())
      })
      if (seed === undefined) failField('code', notStarted)
      const proof = await factor.matchCode(id, seed, code)
      if (proof?.method !== 'totp')
        failField('code', 'is not the current code: check the clock of the device that runs the app')
      return db.inTenant(tenant, async (tx) => {
        const user = await hold(tx, actor, subject)
        const at = now()
        if (!(await queries.confirm(tx, tenant, id, { factor: seed.factor, step: proof.step, at })))
          failField('code', notStarted)
        await noteSetting(tx, actor, tenant, id, at)
        const codes = await factor.issueRecoveryCodes(tx, tenant, id)
        const touched: Change[] = await sessions.endOfUser(tx, source, id, own?.id ?? null)
        let renewed: Renewed | undefined
        if (own) {
          renewed = await sessions.renew(tx, source, own, { authMethod: `${own.authMethod}+totp` })
          touched.push(...renewed.changes)
        }
        const user_id = encodeId('user', id)
        await audit.record(tx, source, 'user.mfa_enabled', { user_id }, { target: targetOf(user) })
        await changes.record(tx, tenant, [{ kind: 'user', subject: id }, ...touched])
        return { codes, enrolledAt: at, renewed }
      })
    },

    /**
     * Removes the factor: by an administrator, or by its owner with all credentials of a sign-in. Every session of the
     * user ends.
     */
    disable: async (actor: Actor, id: string, shown: Shown, reason: string | undefined) => {
      const subject = subjectOf(actor, id)
      const { tenant, source, own } = subject
      await proveOwner(subject, shown.current_password)
      const proof = own && (await proveFactor(subject, shown))
      return db.inTenant(tenant, async (tx) => {
        const user = await hold(tx, actor, subject)
        if (proof && !(await factor.use(tx, tenant, id, proof)))
          failField('code', 'was already used: wait for the next code')
        // An owner who showed no code had no factor at that time. A factor that was added meanwhile stays.
        if ((own && !proof) || !(await queries.removeFactor(tx, tenant, id)))
          return { user, changed: false, terminated: 0 }
        await queries.setMfaAt(tx, tenant, id, null)
        await noteSetting(tx, actor, tenant, id, now())
        const ended = await sessions.endOfUser(tx, source, id)
        const user_id = encodeId('user', id)
        const more = { target: targetOf(user), ...(reason !== undefined && { details: { reason } }) }
        await audit.record(tx, source, 'user.mfa_disabled', { user_id }, more)
        await changes.record(tx, tenant, [{ kind: 'user', subject: id }, ...ended])
        return { user: { ...user, mfa_enrolled_at: null }, changed: true, terminated: ended.length }
      })
    },
  }
}
export type Totp = ReturnType<typeof createTotp>
