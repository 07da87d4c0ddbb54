import type { SecuritySettings } from '@holdfast/contract/settings'
import type { MintedToken, PasswordHasher } from '@holdfast/crypto'
import type { Database } from '../../../db/database.ts'
import type { Source, TenantId } from '../../../kernel/actor.ts'
import { tooMany, unauthorized } from '../../../kernel/app-error.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { Changes } from '../../../replication/changes.ts'
import type { Audit } from '../../audit/index.ts'
import type { IdentityDeps } from '../deps.ts'
import type { AdminSessions } from '../sessions/sessions.ts'
import type { SignInAttempts } from './attempts.ts'
import * as queries from './login.queries.ts'
import { findSeed } from './second-factor.queries.ts'
import type { GivenFactor, Proof, SecondFactor } from './second-factor.ts'

export type SignedIn = {
  tenantId: TenantId
  userId: string
  username: string
  minted: MintedToken<TenantId>
  expiresAt: Date
}
/** Reasons for a refused sign-in with a password. The person never sees them. */
export type Reason =
  | 'other_site'
  | 'unknown_challenge'
  | 'challenge_expired'
  | 'unknown_tenant'
  | 'unknown_user'
  | 'suspended'
  | 'locked'
  | 'no_password'
  | 'external_account'
  | 'sso_enforced'
  | 'wrong_password'
  | 'password_expired'
  | 'missing_second_factor'
  | 'wrong_second_factor'
/** Credentials of a sign-in. */
export type Credentials = { username: string; password: string } & GivenFactor
export type Attempt = { tenantId: TenantId; source: string; username: string; given: Credentials; by: Source }
/** A passed check. `proof` is undefined if the user has no second factor. */
export type CheckedPassword = {
  account: queries.LocalAccount
  reservation: queries.Reservation
  phc: string
  proof: Proof | undefined
}
export type Checked = { account: queries.LocalAccount | undefined; reservation: queries.Reservation | undefined }

/**
 * Steps of every sign-in with a password: the attempt is counted before it is checked, then a session is opened or
 * refused.
 */
export function createSignInSteps(deps: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  hasher: PasswordHasher
  tenancy: Pick<IdentityDeps['tenancy'], 'settings' | 'holdEnforcement'>
  notify: IdentityDeps['notify']
  sessions: Pick<AdminSessions, 'open'>
  factor: Pick<SecondFactor, 'use'>
  attempts: Pick<SignInAttempts, 'reportLock'>
}) {
  const { db, audit, changes, now, hasher, tenancy, notify, sessions, factor, attempts } = deps

  /**
   * Runs in one transaction for known and unknown names alike: counts the source, finds the account, counts the
   * attempt.
   */
  const reserve = ({ tenantId, source, username }: Attempt, limits: SecuritySettings['login']): Promise<Checked> =>
    db.inTenant(tenantId, async (tx) => {
      const at = now()
      const bound = { max: limits.max_failures_per_ip, windowSeconds: limits.window_seconds, at }
      if (!(await queries.reserveSource(tx, source, bound))) {
        const since = (await queries.findFailureWindow(tx, source))?.window_start ?? at
        const wait = Math.ceil(limits.window_seconds - (at.getTime() - since.getTime()) / 1000)
        throw tooManyFailures(Math.max(1, wait))
      }
      const account = await queries.findAccount(tx, tenantId, username)
      const reservation = await queries.reserveAttempt(tx, tenantId, account?.user_id ?? nobody, {
        threshold: limits.lockout_threshold,
        lockSeconds: limits.lockout_seconds,
        at,
      })
      return { account, reservation }
    })

  const giveBack = ({ tenantId, source }: Attempt, { account, reservation }: Checked) =>
    db.inTenant(tenantId, async (tx) => {
      await queries.releaseSource(tx, source)
      if (account && reservation) await queries.releaseAttempt(tx, tenantId, account.user_id, reservation.locked_until)
    })

  async function refuse(attempt: Attempt, { account, reservation }: Checked, reason: Reason): Promise<never> {
    const { by, username } = attempt
    const target = { type: 'user', id: account ? encodeId('user', account.user_id) : null, name: username }
    await audit.note(by, 'login.failed', { username, failure_reason: reason }, { outcome: 'refused', target })
    if (account && reservation)
      await attempts.reportLock(by, { id: account.user_id, username: account.username }, reservation)
    return unauthorized()
  }

  async function open(
    attempt: Attempt,
    { account, reservation, phc, proof }: CheckedPassword,
  ): Promise<SignedIn | Reason> {
    const { tenantId } = attempt
    // In the second step there is no password any more.
    const newPhc =
      attempt.given.password !== '' && hasher.needsRehash(phc)
        ? await hasher.hashPassword(attempt.given.password)
        : undefined
    const limits = (await tenancy.settings(tenantId)).sessions
    const user_id = encodeId('user', account.user_id)
    const by = { ...attempt.by, type: 'session' as const, id: user_id, name: account.username }
    return db
      .inTenant(tenantId, async (tx) => {
        const enforcesSso = await tenancy.holdEnforcement(tx, tenantId)
        // Locked before the user, as in `reserve`. A later refusal rolls this back, so the attempt stays counted.
        await queries.releaseSource(tx, attempt.source)
        const expectedAccount = { user_id: account.user_id, password_phc: phc }
        const at = now()
        const admitted = await queries.admit(tx, tenantId, expectedAccount, {
          ownLock: reservation.locked_until,
          newPhc,
          mfa: proof !== undefined,
          at,
        })
        if (!admitted) throw new Refused('locked')
        const { break_glass } = admitted
        if (enforcesSso && !break_glass) throw new Refused('sso_enforced')
        // From here on the user's row is locked, so a second factor that was added meanwhile is found.
        const factorHolds = proof
          ? await factor.use(tx, tenantId, account.user_id, proof)
          : (await findSeed(tx, tenantId, account.user_id)) === undefined
        if (!factorHolds) throw new Refused('wrong_second_factor')
        const target = { type: 'user', id: user_id, name: account.username }
        const auth_method = proof ? `password+${proof.method}` : 'password'
        const fields = { user_id, auth_method, ...(break_glass && { break_glass }) }
        await audit.record(tx, by, 'login.succeeded', fields, { target })
        if (break_glass) await notify(tx, tenantId, alarmOf(by, at))
        const steppedUpAt = proof?.method === 'totp' ? at : null
        const how = { authMethod: auth_method, steppedUpAt, provider: null }
        const session = await sessions.open(tx, by, account.user_id, limits, how)
        if (!session) throw new Refused('suspended')
        // Gateways may use the time of this proof.
        if (proof) await changes.record(tx, tenantId, [{ kind: 'user', subject: account.user_id }])
        return { tenantId, userId: account.user_id, username: account.username, ...session }
      })
      .catch((e: unknown) => {
        if (e instanceof Refused) return e.reason
        throw e
      })
  }

  return { reserve, giveBack, refuse, open }
}
export type SignInSteps = ReturnType<typeof createSignInSteps>

/** Rolls the transaction of a sign-in back, with the reason. */
class Refused extends Error {
  readonly reason: Reason
  constructor(reason: Reason) {
    super(reason)
    this.reason = reason
  }
}

/** Returns why no password opens this account; undefined if one may. */
export function whyShut(
  { status, source, break_glass }: queries.LocalAccount,
  enforcesSso: boolean,
): Reason | undefined {
  if (status === 'suspended') return 'suspended'
  if (source !== 'local') return 'external_account'
  return enforcesSso && !break_glass ? 'sso_enforced' : undefined
}

/** Every sign-in of a break-glass user is notified. It is rare, and its password bypasses the identity providers. */
const alarmOf = ({ id, name, sourceIp }: Source, at: Date) =>
  ({
    kind: 'break_glass.used',
    severity: 'critical',
    title: `Break-glass sign-in: ${name}`,
    detail: `${name} signed in with a password at ${at.toISOString()}, from ${sourceIp ?? 'an unknown address'}. If you did not expect this, suspend the account to end its sessions, and check its changes in the audit log.`,
    subject: { type: 'user', id, name: name ?? '' },
  }) as const

const nobody = '00000000-0000-0000-0000-000000000000'
const tooManyFailures = (seconds: number) => tooMany('failed sign-ins from this address', seconds)
