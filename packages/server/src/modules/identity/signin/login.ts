import { type PasswordHasher, QueueFullError } from '@holdfast/crypto'
import type { Caller, Source } from '../../../kernel/actor.ts'
import { AppError, fail } from '../../../kernel/app-error.ts'
import { sourceBlock } from '../../../kernel/cidr.ts'
import { createTurns } from '../../../kernel/in-turn.ts'
import { createTally } from '../../../kernel/tally.ts'
import type { Audit } from '../../audit/index.ts'
import type { IdentityDeps } from '../deps.ts'
import { canonicalUsername } from '../people/username.ts'
import type { SecondFactor } from './second-factor.ts'
import {
  type Attempt,
  type Checked,
  type Credentials,
  type Passed,
  type Reason,
  type SignedIn,
  type Steps,
  whyShut,
} from './sign-in-steps.ts'

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
  audit: Audit
  now: () => Date
  hasher: PasswordHasher
  tenancy: Pick<IdentityDeps['tenancy'], 'settings' | 'tenantByName'>
  steps: Steps
  factor: Pick<SecondFactor, 'match'>
  /** Hears of counts that could not be put on record. */
  onError: (e: Error) => void
}) {
  const { audit, now, hasher, tenancy, steps, factor, onError } = deps
  const { reserve, giveBack, refuse, open } = steps
  const inTurn = createTurns(waitingPerSource)
  const throttled = createTally<Source>({
    onError,
    keyOf: ({ tenantId, type, id, name }) => `${tenantId} ${type} ${id} ${name}`,
    record: (by, refused) =>
      audit.note(by, 'auth.throttled', { credential: 'password', refused }, { outcome: 'refused' }),
  })

  /** What has passed, or why it has not. Costs one password hash in every case. */
  async function check(
    { account, reservation }: Checked,
    { tenantId, given }: Attempt,
    enforcesSso: boolean,
  ): Promise<Passed | Reason> {
    const phc = account?.password_phc
    const shut = account && whyShut(account, enforcesSso)
    if (!account || !reservation || !phc || shut) {
      await hasher.verifyDummy(given.password)
      if (!account) return 'unknown_user'
      return shut ?? (reservation ? 'no_password' : 'locked')
    }
    if (!(await hasher.verifyPassword(phc, given.password))) return 'wrong_password'
    if (account.password_expires_at && account.password_expires_at <= now()) return 'password_expired'
    if (account.seed_jwe === null) return { account, reservation, phc, proof: undefined }
    if (given.totp === '' && given.recoveryCode === '') return 'missing_second_factor'
    const proof = await factor.match(tenantId, account.user_id, account.seed_jwe, given)
    return proof ? { account, reservation, phc, proof } : 'wrong_second_factor'
  }

  async function run(attempt: Attempt, tenantKnown: boolean): Promise<SignedIn> {
    const limits = (await tenancy.settings(attempt.tenantId)).login
    const checked = await reserve(tenantKnown ? attempt : { ...attempt, username: '' }, limits)
    const passed = await check(checked, attempt, limits.enforce_sso).catch(async (e: unknown) => {
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

const busy = 'many people sign in right now; try again in a moment'

/** Text that the database and a log line can hold. */
const clean = (text: string) => text.toWellFormed().replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, '\ufffd')
