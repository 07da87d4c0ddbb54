import { type Kek, mintTotpSeed, provisioningUri, toBase32 } from '@holdfast/crypto'
import type { Database, Tx } from '../../../db/database.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { Change, Changes } from '../../../memory/changes.ts'
import type { Audit } from '../../audit/index.ts'
import { missingUser, refuseStronger, type Subject, subjectOf } from '../people/subject.ts'
import { lockUser, type UserRow } from '../people/users.queries.ts'
import type { Renewed, Sessions } from '../sessions/sessions.ts'
import * as queries from './second-factor.queries.ts'
import type { SecondFactor } from './second-factor.ts'

const pendingSeconds = 600
const issuer = 'Holdfast'

export type TotpDeps = {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  kek: Kek
  factor: SecondFactor
  sessions: Pick<Sessions, 'endOfUser' | 'renew'>
  tenantName: (tenant: TenantId) => Promise<string | undefined>
}

/** How a user comes to a second factor and loses it. */
export function createTotp({ db, audit, changes, now, factor, sessions, tenantName }: TotpDeps) {
  const hold = async (tx: Tx, actor: Actor, { tenant, id, own }: Subject): Promise<UserRow> => {
    const user = await lockUser(tx, tenant, id)
    if (!user || user.deleted_at) missingUser()
    if (!own) refuseStronger(actor, user)
    return user
  }
  const targetOf = (user: UserRow) => ({ type: 'user', id: encodeId('user', user.user_id), name: user.username })
  const accountOf = async (tenant: TenantId, username: string) => {
    const name = await tenantName(tenant)
    return name === undefined || name === 'default' ? username : `${name}/${username}`
  }

  return {
    /** A seed that is nothing yet: a code must confirm it. Starting again replaces it. */
    enroll: async (actor: Actor, wireId: string | undefined) => {
      const subject = subjectOf(actor, wireId)
      const { tenant, id, source } = subject
      const seed = mintTotpSeed()
      const seed_jwe = await factor.sealSeed(id, seed)
      const expires_at = new Date(now().getTime() + pendingSeconds * 1000)
      const user = await db.inTenant(tenant, async (tx) => {
        const held = await hold(tx, actor, subject)
        if (!(await queries.insertPending(tx, tenant, id, { seed_jwe, expires_at })))
          fail('validation_error', `${held.username} has a second factor already; it must be disabled first`)
        const user_id = encodeId('user', id)
        await audit.record(tx, source, 'user.mfa_enrollment_started', { user_id }, { target: targetOf(held) })
        return held
      })
      const account = await accountOf(tenant, user.username)
      return {
        provisioning_uri: provisioningUri({ seed, issuer, account }),
        secret: toBase32(seed),
        expires_at: expires_at.toISOString(),
      }
    },

    /**
     * Makes the pending seed the second factor. Sessions that began without it end; the one that confirms it goes on
     * under a new id.
     */
    verify: async (actor: Actor, wireId: string | undefined, code: string) => {
      const subject = subjectOf(actor, wireId)
      const { tenant, id, source, own } = subject
      const seed = await db.inTenant(tenant, async (tx) => {
        await hold(tx, actor, subject)
        return queries.findPending(tx, tenant, id, now())
      })
      if (seed === undefined) failField('code', 'no enrollment is under way; start one first')
      const proof = await factor.matchCode(id, seed, code)
      if (proof?.method !== 'totp') failField('code', 'is not the current code; check the clock of the device')
      return db.inTenant(tenant, async (tx) => {
        const user = await hold(tx, actor, subject)
        const at = now()
        if (!(await queries.confirm(tx, tenant, id, { seed_jwe: seed, step: proof.step, at })))
          failField('code', 'no enrollment is under way; start one first')
        const codes = await factor.issueRecoveryCodes(tx, tenant, id)
        const touched: Change[] = await sessions.endOfUser(tx, source, id, own?.id ?? null)
        let renewed: Renewed | undefined
        if (own) {
          renewed = await sessions.renew(tx, source, own, { steppedUpAt: at, authMethod: `${own.authMethod}+totp` })
          touched.push(...renewed.changes)
        }
        const user_id = encodeId('user', id)
        await audit.record(tx, source, 'user.mfa_enabled', { user_id }, { target: targetOf(user) })
        await changes.record(tx, tenant, [{ kind: 'user', subject: id }, ...touched])
        return { codes, enrolledAt: at, renewed }
      })
    },

    /** By an administrator. Every session of the user ends. */
    disable: async (actor: Actor, wireId: string, reason: string | undefined) => {
      const subject = subjectOf(actor, wireId)
      const { tenant, id, source } = subject
      return db.inTenant(tenant, async (tx) => {
        const user = await hold(tx, actor, subject)
        if (!(await queries.removeFactor(tx, tenant, id))) return { user, changed: false, terminated: 0 }
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
