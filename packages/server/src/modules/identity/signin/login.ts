import { type PasswordHasher, QueueFullError } from '@holdfast/crypto'
import type { Caller, TenantId } from '../../../kernel/actor.ts'
import { AppError, fail, tooMany } from '../../../kernel/app-error.ts'
import { sourceBlock } from '../../../kernel/cidr.ts'
import { createKeyedMutex } from '../../../kernel/concurrency.ts'
import { type Origins, useInstead } from '../../../kernel/origins.ts'
import type { Audit } from '../../audit/index.ts'
import type { IdentityDeps } from '../deps.ts'
import { canonicalUsername } from '../people/username.ts'
import type { Challenge, CodeChallenge, CodeStep } from './code-step.ts'
import { createEarlyRefusals } from './early-refusals.ts'
import type { GivenFactor, SecondFactor } from './second-factor.ts'
import {
  type Attempt,
  type Checked,
  type CheckedPassword,
  type Credentials,
  type Reason,
  type SignedIn,
  type SignInSteps,
  whyShut,
} from './sign-in-steps.ts'

const defaultTenant = 'default'
/** Limit of waiting attempts for one address; more are told to retry later. */
const waitingPerSource = 200

/**
 * Sign-in with a local password, and a second factor if the user has one. Every attempt is counted before the password
 * is checked, for its source and its account, and taken back if it was correct. So concurrent attempts on any number of
 * replicas learn no more than sequential ones. Attempts of one source are serialized, so that people behind one address
 * do not count against each other. Answer and work are the same for every failure.
 */
export function createLogin(deps: {
  origins: Origins
  audit: Audit
  now: () => Date
  hasher: PasswordHasher
  tenancy: Pick<IdentityDeps['tenancy'], 'settings' | 'tenantByName'>
  steps: SignInSteps
  factor: Pick<SecondFactor, 'match'>
  codeStep: CodeStep
  /** Reports counts that could not be recorded. */
  onError: (e: Error) => void
}) {
  const { origins, audit, now, hasher, tenancy, steps, factor, codeStep, onError } = deps
  const { reserve, giveBack, refuse, open } = steps
  const inTurn = createKeyedMutex(waitingPerSource)
  const early = createEarlyRefusals({ audit, onError })

  /** Returns the passed attempt or the reason for the refusal. Costs one password hash in every case. */
  async function check(
    { account, reservation }: Checked,
    { tenantId, given }: Attempt,
    enforcesSso: boolean,
  ): Promise<CheckedPassword | Reason> {
    const phc = account?.password_phc
    const shut = account && whyShut(account, enforcesSso)
    if (!account || !reservation || !phc || shut) {
      await hasher.verifyDummy(given.password)
      if (!account) return 'unknown_user'
      return shut ?? (reservation ? 'no_password' : 'locked')
    }
    if (!(await hasher.verifyPassword(phc, given.password))) return 'wrong_password'
    if (account.password_expires_at && account.password_expires_at <= now()) return 'password_expired'
    if (account.seed === null) return { account, reservation, phc, proof: undefined }
    if (given.totp === '' && given.recoveryCode === '') return 'missing_second_factor'
    const proof = await factor.match(tenantId, account.user_id, account.seed, given)
    return proof ? { account, reservation, phc, proof } : 'wrong_second_factor'
  }

  /** Opens a session or refuses the attempt. If the check itself failed, the attempt is taken back. */
  async function conclude(
    attempt: Attempt,
    checked: Checked,
    passwordCheck: Promise<CheckedPassword | Reason>,
    named?: Reason,
  ): Promise<SignedIn> {
    const passed = await passwordCheck.catch(async (e: unknown) => {
      await giveBack(attempt, checked)
      throw e
    })
    const outcome = typeof passed === 'string' ? passed : await open(attempt, passed)
    if (typeof outcome !== 'string') return outcome
    return refuse(attempt, checked, named ?? outcome)
  }

  async function run(attempt: Attempt, tenantKnown: boolean, mayAsk: boolean): Promise<SignedIn | CodeChallenge> {
    const limits = (await tenancy.settings(attempt.tenantId)).login
    const checked = await reserve(tenantKnown ? attempt : { ...attempt, username: '' }, limits)
    const { account } = checked
    let asks = false
    const judge = async () => {
      const found = await check(checked, attempt, limits.enforce_sso)
      asks = mayAsk && found === 'missing_second_factor'
      return found
    }
    const passwordCheck = judge()
    await passwordCheck.catch(() => {})
    if (!asks || !account?.password_phc)
      return conclude(attempt, checked, passwordCheck, tenantKnown ? undefined : 'unknown_tenant')
    await giveBack(attempt, checked)
    return codeStep.ask(attempt, account, account.password_phc)
  }

  /** Serializes the attempts of one source. Attempts refused for their number are counted. */
  async function withinLimits<T>({ source, by, username }: Attempt, work: () => Promise<T>): Promise<T> {
    try {
      const done = await inTurn(source, work)
      if (done === undefined) throw busy()
      return done
    } catch (e) {
      if (e instanceof AppError && e.code === 'rate_limited') await early.throttle(by, username)
      if (!(e instanceof QueueFullError)) throw e
      await early.throttle(by, username)
      throw busy()
    }
  }

  /** Resolves the tenant and username of an attempt, and its source. */
  async function attemptOf(given: Credentials, caller: Caller): Promise<{ attempt: Attempt; tenantKnown: boolean }> {
    // Pasted names may have spaces around them.
    const name = clean(given.username.trim())
    const slash = name.indexOf('/')
    const named = slash < 0 ? undefined : await tenancy.tenantByName(name.slice(0, slash).trim())
    const tenantId =
      named ??
      (await tenancy.tenantByName(defaultTenant)) ??
      fail('internal_error', 'this deployment has no tenant yet: see the log of the server')
    const typed = named ? name.slice(slash + 1).trim() : name
    // An invalid username is looked up too, so that it takes as long.
    const username = canonicalUsername(typed).name ?? typed
    return {
      attempt: { ...attemptAt(tenantId, caller), username, given },
      tenantKnown: slash < 0 || named !== undefined,
    }
  }

  return {
    /**
     * `username` is a name in the tenant `default`, or `tenant/name`. Throws `unauthorized` for any wrong credential,
     * and `rate_limited` for a source with too many failures.
     */
    signIn: async (given: Credentials, caller: Caller): Promise<SignedIn> => {
      const { attempt, tenantKnown } = await attemptOf(given, caller)
      const signedIn = await withinLimits(attempt, () => run(attempt, tenantKnown, false))
      return 'challenge' in signedIn ? fail('internal_error', 'unexpected server error') : signedIn
    },
    /** Like `signIn` without a code. Returns a challenge if the account needs one. */
    begin: async (
      given: Pick<Credentials, 'username' | 'password'>,
      caller: Caller,
    ): Promise<SignedIn | CodeChallenge> => {
      const { attempt, tenantKnown } = await attemptOf({ ...given, ...noCode }, caller)
      return withinLimits(attempt, () => run(attempt, tenantKnown, true))
    },
    readChallenge: codeStep.read,
    /** Checks the code for a challenge. It counts like any other attempt. */
    finish: async (shown: Challenge, code: GivenFactor, caller: Caller): Promise<SignedIn> => {
      const { tenantId, username } = shown
      const attempt = { ...attemptAt(tenantId, caller), username, given: { username, password: '', ...code } }
      return withinLimits(attempt, async () => {
        const { login: limits } = await tenancy.settings(tenantId)
        const checked = await reserve(attempt, limits)
        const how = { shown, enforcesSso: limits.enforce_sso }
        return conclude(attempt, checked, codeStep.check(checked, attempt, how))
      })
    },

    /** Refuses a form of another site that would sign a person in here, at the first or second step. */
    refuseOtherSite: async (
      named: string | Challenge,
      caller: Caller,
      usedOrigin: string | undefined,
    ): Promise<never> => {
      const { by, username } =
        typeof named === 'string'
          ? (await attemptOf({ username: named, password: '', ...noCode }, caller)).attempt
          : { ...attemptAt(named.tenantId, caller), username: named.username }
      await early.refuse(by, username, 'other_site')
      return fail('forbidden', useInstead('Sign in at', usedOrigin, origins) ?? 'a sign-in must be sent from this site')
    },

    /** Records a code with an expired or unknown challenge. */
    recordLateCode: async (shown: Challenge | undefined, caller: Caller): Promise<void> => {
      if (shown) return early.refuse(attemptAt(shown.tenantId, caller).by, shown.username, 'challenge_expired')
      const { attempt } = await attemptOf({ username: '', password: '', ...noCode }, caller)
      return early.refuse(attempt.by, '', 'unknown_challenge')
    },

    /** Writes counts of throttled attempts that are still in memory; at stop. */
    flush: early.flush,
  }
}
export type Login = ReturnType<typeof createLogin>

/** Returns the tenant and source of an attempt. */
const attemptAt = (tenantId: TenantId, caller: Caller): Pick<Attempt, 'tenantId' | 'source' | 'by'> => ({
  tenantId,
  source: `${tenantId} ${sourceBlock(caller.sourceIp)}`,
  by: { ...caller, tenantId, claim: null, type: 'address', id: null, name: caller.sourceIp },
})

const noCode: GivenFactor = { totp: '', recoveryCode: '' }
const busy = () => tooMany('sign-ins at the same time', 2)

/** Replaces characters that the database or a log line cannot hold. */
const clean = (text: string) => text.toWellFormed().replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, '\ufffd')
