import type { SecuritySettings } from '@holdfast/contract/settings'
import { type PasswordHasher, QueueFullError } from '@holdfast/crypto'
import type { Database } from '../../db/database.ts'
import type { Source, TenantId } from '../../kernel/actor.ts'
import { AppError, fail } from '../../kernel/app-error.ts'
import { sourceBlock } from '../../kernel/cidr.ts'
import { encodeId } from '../../kernel/ids.ts'
import { createTurns } from '../../kernel/in-turn.ts'
import type { Audit } from '../audit/index.ts'
import type { Tenancy } from '../tenancy/index.ts'
import * as queries from './login.queries.ts'
import type { Sessions } from './sessions.ts'

/** The request that carries the attempt. */
export type Caller = Pick<Source, 'origin' | 'userAgent' | 'requestId'> & { sourceIp: string }
export type SignedIn = { tenantId: TenantId; userId: string; username: string; secret: string; expiresAt: Date }
type Reason = 'unknown_tenant' | 'unknown_user' | 'suspended' | 'locked' | 'no_password' | 'wrong_password'
type Attempt = { tenantId: TenantId; source: string; username: string; password: string; by: Source }
type Checked = { account: queries.Account | undefined; reservation: queries.Reservation | undefined }

const defaultTenant = 'default'
/** More than these wait for one address: it is told to come back. */
const waitingPerSource = 200

/**
 * Sign-in with a local password. Every attempt is counted, for its source and for its account, before the password is
 * looked at, and given back when it was right; so any number of attempts at once, on any number of replicas, learn no
 * more than as many one after the other. Attempts of one source take turns, so that people who sign in at the same
 * time behind one address do not count against each other. Whatever is wrong, the answer and the work are the same.
 */
export function createLogin(deps: {
  db: Database
  audit: Audit
  now: () => Date
  passwords: PasswordHasher
  tenancy: Pick<Tenancy, 'settings' | 'tenantByName'>
  sessions: Pick<Sessions, 'open'>
}) {
  const { db, audit, now, passwords, tenancy, sessions } = deps
  const inTurn = createTurns(waitingPerSource)

  /** One transaction for known and unknown names alike: count the source, find the account, count the attempt. */
  const reserve = ({ tenantId, source, username }: Attempt, limits: SecuritySettings['login']): Promise<Checked> =>
    db.acrossTenants(async (tx) => {
      const at = now()
      const bound = { max: limits.max_failures_per_ip, windowSeconds: limits.window_seconds, at }
      if (!(await queries.reserveSource(tx, source, bound))) {
        const since = (await queries.findWindow(tx, source))?.window_start ?? at
        const wait = Math.ceil(limits.window_seconds - (at.getTime() - since.getTime()) / 1000)
        throw tooMany(Math.max(1, wait))
      }
      const account = await queries.findAccount(tx, tenantId, username)
      const reservation = await queries.reserveAttempt(tx, tenantId, account?.user_id ?? nobody, {
        threshold: limits.lockout_threshold,
        lockSeconds: limits.lockout_seconds,
        at,
      })
      return { account, reservation }
    })

  /** Undefined when the password is right; else why not. Costs one password hash in every case. */
  async function check({ account, reservation }: Checked, password: string): Promise<Reason | undefined> {
    const phc = account?.password_phc
    if (reservation && phc) return (await passwords.verifyPassword(phc, password)) ? undefined : 'wrong_password'
    await passwords.verifyDummy(password)
    if (!account) return 'unknown_user'
    if (account.status === 'suspended') return 'suspended'
    return reservation ? 'no_password' : 'locked'
  }

  const giveBack = ({ tenantId, source }: Attempt, { account, reservation }: Checked) =>
    db.acrossTenants(async (tx) => {
      await queries.releaseSource(tx, source)
      if (account && reservation) await queries.releaseAttempt(tx, tenantId, account.user_id, reservation.locked_until)
    })

  /** The attempt that reached the threshold reports the lock, unless somebody's right password has opened it again. */
  async function reportLock(
    { tenantId, username, by }: Attempt,
    user: string,
    { locked_until, failed_logins }: queries.Reservation,
  ) {
    if (!locked_until) return
    await db.inTenant(tenantId, async (tx) => {
      if (!(await queries.isLockedUntil(tx, tenantId, user, locked_until))) return
      const target = { type: 'user', id: encodeId('user', user), name: username }
      await audit.record(tx, by, 'account.locked', { username, attempt_count: failed_logins }, { target })
    })
  }

  async function refuse(attempt: Attempt, { account, reservation }: Checked, reason: Reason): Promise<never> {
    const by = account ? { ...attempt.by, id: encodeId('user', account.user_id) } : attempt.by
    await audit.note(by, 'login.failed', { username: attempt.username, failure_reason: reason }, { outcome: 'refused' })
    if (account && reservation) await reportLock({ ...attempt, by }, account.user_id, reservation)
    return fail('unauthorized', 'missing or invalid credentials')
  }

  async function open(
    attempt: Attempt,
    account: queries.Account,
    reservation: queries.Reservation,
    phc: string,
  ): Promise<SignedIn | undefined> {
    const newPhc = passwords.needsRehash(phc) ? await passwords.hashPassword(attempt.password) : undefined
    const limits = (await tenancy.settings(attempt.tenantId)).sessions
    const user_id = encodeId('user', account.user_id)
    const by = { ...attempt.by, id: user_id, name: account.username }
    return db.inTenant(attempt.tenantId, async (tx) => {
      const held = { user_id: account.user_id, password_phc: phc }
      const admitted = await queries.admit(tx, attempt.tenantId, held, {
        ownLock: reservation.locked_until,
        newPhc,
        at: now(),
      })
      if (!admitted) return undefined
      await queries.releaseSource(tx, attempt.source)
      const target = { type: 'user', id: user_id, name: account.username }
      await audit.record(tx, by, 'login.succeeded', { user_id, auth_method: 'password' }, { target })
      const session = await sessions.open(tx, by, account.user_id, limits, 'password')
      return { tenantId: attempt.tenantId, userId: account.user_id, username: account.username, ...session }
    })
  }

  async function run(attempt: Attempt, tenantKnown: boolean): Promise<SignedIn> {
    const limits = (await tenancy.settings(attempt.tenantId)).login
    const checked = await reserve(tenantKnown ? attempt : { ...attempt, username: '' }, limits)
    const reason = await check(checked, attempt.password).catch(async (e: unknown) => {
      await giveBack(attempt, checked)
      throw e
    })
    const { account, reservation } = checked
    if (reason === undefined && account?.password_phc && reservation) {
      const signedIn = await open(attempt, account, reservation, account.password_phc)
      return signedIn ?? refuse(attempt, checked, 'locked')
    }
    return refuse(attempt, checked, tenantKnown ? (reason ?? 'wrong_password') : 'unknown_tenant')
  }

  /**
   * `username` is a name in the tenant `default`, or `tenant/name`. Throws `unauthorized` for whatever is wrong with
   * the credentials and `rate_limited` for a source with too many failures.
   */
  return async (username: string, password: string, caller: Caller): Promise<SignedIn> => {
    const name = clean(username)
    const slash = name.indexOf('/')
    const named = slash < 0 ? undefined : await tenancy.tenantByName(name.slice(0, slash))
    const tenantId =
      named ?? (await tenancy.tenantByName(defaultTenant)) ?? fail('internal_error', 'there is no tenant yet')
    const source = `${tenantId} ${sourceBlock(caller.sourceIp)}`
    const by: Source = { ...caller, tenantId, type: 'session', id: null, name }
    const attempt = { tenantId, source, username: named ? name.slice(slash + 1) : name, password, by }
    try {
      return (await inTurn(source, () => run(attempt, slash < 0 || named !== undefined))) ?? fail('rate_limited', busy)
    } catch (e) {
      if (e instanceof QueueFullError) throw new AppError('rate_limited', busy, { retryAfterSeconds: 2 })
      throw e
    }
  }
}

const nobody = '00000000-0000-0000-0000-000000000000'
const busy = 'many people sign in right now; try again in a moment'
const tooMany = (seconds: number) =>
  new AppError('rate_limited', 'too many failed sign-ins from this address', { retryAfterSeconds: seconds })

/** Text that the database and a log line can hold. */
const clean = (text: string) => text.toWellFormed().replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, '\ufffd')
