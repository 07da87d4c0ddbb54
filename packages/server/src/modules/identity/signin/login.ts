import type { SecuritySettings } from '@holdfast/contract/settings'
import { type MintedToken, type PasswordHasher, QueueFullError } from '@holdfast/crypto'
import type { Database } from '../../../db/database.ts'
import type { Caller, Source, TenantId } from '../../../kernel/actor.ts'
import { AppError, fail, unauthorized } from '../../../kernel/app-error.ts'
import { sourceBlock } from '../../../kernel/cidr.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { createTurns } from '../../../kernel/in-turn.ts'
import { createTally } from '../../../kernel/tally.ts'
import type { Changes } from '../../../memory/changes.ts'
import type { Audit } from '../../audit/index.ts'
import type { IdentityDeps } from '../deps.ts'
import { canonicalUsername } from '../people/username.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Attempts } from './attempts.ts'
import * as queries from './login.queries.ts'
import { findSeed } from './second-factor.queries.ts'
import type { GivenFactor, Proof, SecondFactor } from './second-factor.ts'

type SignedIn = {
  tenantId: TenantId
  userId: string
  username: string
  minted: MintedToken<TenantId>
  expiresAt: Date
}
type Reason =
  | 'other_site'
  | 'unknown_tenant'
  | 'unknown_user'
  | 'suspended'
  | 'locked'
  | 'no_password'
  | 'wrong_password'
  | 'password_expired'
  | 'missing_second_factor'
  | 'wrong_second_factor'
/** What a person gives to sign in. */
type Credentials = { username: string; password: string } & GivenFactor
type Attempt = { tenantId: TenantId; source: string; username: string; given: Credentials; by: Source }
/** Undefined where the user has no second factor. */
type Passed = { account: queries.Account; reservation: queries.Reservation; phc: string; proof: Proof | undefined }
type Checked = { account: queries.Account | undefined; reservation: queries.Reservation | undefined }

const defaultTenant = 'default'
/** More than these wait for one address: it is told to come back. */
const waitingPerSource = 200

/**
 * Sign-in with a local password, and a second factor where the user has one. Every attempt is counted, for its source
 * and for its account, before the password is looked at, and given back when it was right; so any number of attempts at
 * once, on any number of replicas, learn no more than as many one after the other. Attempts of one source take turns,
 * so that people who sign in at the same time behind one address do not count against each other. Whatever is wrong,
 * the answer and the work are the same.
 */
export function createLogin(deps: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  hasher: PasswordHasher
  tenancy: Pick<IdentityDeps['tenancy'], 'settings' | 'tenantByName'>
  sessions: Pick<Sessions, 'open'>
  factor: SecondFactor
  attempts: Pick<Attempts, 'reportLock'>
  /** Hears of counts that could not be put on record. */
  onError: (e: Error) => void
}) {
  const { db, audit, changes, now, hasher, tenancy, sessions, factor, attempts, onError } = deps
  const inTurn = createTurns(waitingPerSource)
  const throttled = createTally<Source>({
    onError,
    keyOf: ({ tenantId, type, id, name }) => `${tenantId} ${type} ${id} ${name}`,
    record: (by, refused) =>
      audit.note(by, 'auth.throttled', { credential: 'password', refused }, { outcome: 'refused' }),
  })

  /** One transaction for known and unknown names alike: count the source, find the account, count the attempt. */
  const reserve = ({ tenantId, source, username }: Attempt, limits: SecuritySettings['login']): Promise<Checked> =>
    db.inTenant(tenantId, async (tx) => {
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

  /** What has passed, or why it has not. Costs one password hash in every case. */
  async function check({ account, reservation }: Checked, attempt: Attempt): Promise<Passed | Reason> {
    const { given } = attempt
    const phc = account?.password_phc
    if (!account || !reservation || !phc) {
      await hasher.verifyDummy(given.password)
      if (!account) return 'unknown_user'
      if (account.status === 'suspended') return 'suspended'
      return reservation ? 'no_password' : 'locked'
    }
    if (!(await hasher.verifyPassword(phc, given.password))) return 'wrong_password'
    if (account.password_expires_at && account.password_expires_at <= now()) return 'password_expired'
    if (account.seed_jwe === null) return { account, reservation, phc, proof: undefined }
    if (given.totp === '' && given.recoveryCode === '') return 'missing_second_factor'
    const proof = await factor.match(attempt.tenantId, account.user_id, account.seed_jwe, given)
    return proof ? { account, reservation, phc, proof } : 'wrong_second_factor'
  }

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

  async function open(attempt: Attempt, { account, reservation, phc, proof }: Passed): Promise<SignedIn | Reason> {
    const { tenantId } = attempt
    const newPhc = hasher.needsRehash(phc) ? await hasher.hashPassword(attempt.given.password) : undefined
    const limits = (await tenancy.settings(tenantId)).sessions
    const user_id = encodeId('user', account.user_id)
    const by = { ...attempt.by, type: 'session' as const, id: user_id, name: account.username }
    return db
      .inTenant(tenantId, async (tx) => {
        // First, as where an attempt is reserved: who is refused below keeps it.
        await queries.releaseSource(tx, attempt.source)
        const held = { user_id: account.user_id, password_phc: phc }
        const at = now()
        if (
          !(await queries.admit(tx, tenantId, held, {
            ownLock: reservation.locked_until,
            newPhc,
            mfa: proof !== undefined,
            at,
          }))
        )
          throw new Refused('locked')
        // The user's row is held from here on: a second factor that came meanwhile is seen.
        const factorHolds = proof
          ? await factor.use(tx, tenantId, account.user_id, proof)
          : (await findSeed(tx, tenantId, account.user_id)) === undefined
        if (!factorHolds) throw new Refused('wrong_second_factor')
        const target = { type: 'user', id: user_id, name: account.username }
        const auth_method = proof ? `password+${proof.method}` : 'password'
        await audit.record(tx, by, 'login.succeeded', { user_id, auth_method }, { target })
        const steppedUpAt = proof?.method === 'totp' ? at : null
        const how = { authMethod: auth_method, steppedUpAt, providerId: null }
        const session = await sessions.open(tx, by, account.user_id, limits, how)
        // Gateways may ask how long ago it was.
        if (proof) await changes.record(tx, tenantId, [{ kind: 'user', subject: account.user_id }])
        return { tenantId, userId: account.user_id, username: account.username, ...session }
      })
      .catch((e: unknown) => {
        if (e instanceof Refused) return e.reason
        throw e
      })
  }

  async function run(attempt: Attempt, tenantKnown: boolean): Promise<SignedIn> {
    const limits = (await tenancy.settings(attempt.tenantId)).login
    const checked = await reserve(tenantKnown ? attempt : { ...attempt, username: '' }, limits)
    const passed = await check(checked, attempt).catch(async (e: unknown) => {
      await giveBack(attempt, checked)
      throw e
    })
    const outcome = typeof passed === 'string' ? passed : await open(attempt, passed)
    if (typeof outcome !== 'string') return outcome
    return refuse(attempt, checked, tenantKnown ? outcome : 'unknown_tenant')
  }

  /** Whose account a name may mean, and where the attempt comes from. */
  async function attemptOf(given: Credentials, caller: Caller): Promise<{ attempt: Attempt; tenantKnown: boolean }> {
    const name = clean(given.username)
    const slash = name.indexOf('/')
    const named = slash < 0 ? undefined : await tenancy.tenantByName(name.slice(0, slash))
    const tenantId =
      named ?? (await tenancy.tenantByName(defaultTenant)) ?? fail('internal_error', 'there is no tenant yet')
    const source = `${tenantId} ${sourceBlock(caller.sourceIp)}`
    const by: Source = { ...caller, tenantId, claim: null, type: 'address', id: null, name: caller.sourceIp }
    const typed = named ? name.slice(slash + 1) : name
    // What is no username is looked for all the same, so that it takes as long.
    const username = canonicalUsername(typed).name ?? typed
    return { attempt: { tenantId, source, username, given, by }, tenantKnown: slash < 0 || named !== undefined }
  }

  return {
    /**
     * `username` is a name in the tenant `default`, or `tenant/name`. Throws `unauthorized` for whatever is wrong with
     * the credentials and `rate_limited` for a source with too many failures.
     */
    signIn: async (given: Credentials, caller: Caller): Promise<SignedIn> => {
      const { attempt, tenantKnown } = await attemptOf(given, caller)
      try {
        return (await inTurn(attempt.source, () => run(attempt, tenantKnown))) ?? fail('rate_limited', busy)
      } catch (e) {
        if (e instanceof AppError && e.code === 'rate_limited') await throttled.count(attempt.by)
        if (!(e instanceof QueueFullError)) throw e
        await throttled.count(attempt.by)
        throw new AppError('rate_limited', busy, { retryAfterSeconds: 2 })
      }
    },

    /** A form of another site that signs somebody in here. */
    refuseOtherSite: async (username: string, caller: Caller): Promise<never> => {
      const { attempt } = await attemptOf({ username, password: '', totp: '', recoveryCode: '' }, caller)
      const target = { type: 'user', id: null, name: attempt.username }
      const fields = { username: attempt.username, failure_reason: 'other_site' satisfies Reason }
      await audit.note(attempt.by, 'login.failed', fields, { outcome: 'refused', target })
      return fail('forbidden', 'a sign-in must come from this site')
    },

    /** Writes the counts of what was throttled lately; at stop. */
    flush: throttled.flush,
  }
}
export type Login = ReturnType<typeof createLogin>

/** Undoes the transaction of a sign-in, and says why. */
class Refused extends Error {
  readonly reason: Reason
  constructor(reason: Reason) {
    super(reason)
    this.reason = reason
  }
}

const nobody = '00000000-0000-0000-0000-000000000000'
const busy = 'many people sign in right now; try again in a moment'
const tooMany = (seconds: number) =>
  new AppError('rate_limited', 'too many failed sign-ins from this address', { retryAfterSeconds: seconds })

/** Text that the database and a log line can hold. */
const clean = (text: string) => text.toWellFormed().replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, '\ufffd')
