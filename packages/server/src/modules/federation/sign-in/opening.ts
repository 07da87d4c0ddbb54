import { mintToken } from '@holdfast/crypto'
import type { Tx } from '../../../db/database.ts'
import type { Caller, Source, TenantId } from '../../../kernel/actor.ts'
import { tooMany, unauthorized } from '../../../kernel/app-error.ts'
import { sourceBlock } from '../../../kernel/cidr.ts'
import { createRateLimiter } from '../../../kernel/rate-limit.ts'
import { storable } from '../../../kernel/text.ts'
import { minute } from '../../../kernel/time.ts'
import type { FederationDeps } from '../deps.ts'
import { FederationError, type ProvenIdentity } from '../protocols/proven-identity.ts'
import { findProvider, type ProviderRow } from '../providers/providers.queries.ts'
import {
  createAccountResolution,
  mappedBy,
  partyOf,
  RefusedSignIn,
  type UnresolvedAccount,
  usernameSaid,
} from './account-resolution.ts'
import { type Comer, createRefusedReturns, type ReturnReason, type SignInWay, strangerAt } from './refused-returns.ts'

/** Time for a person to sign in at the provider. */
export const waitsForMs = 10 * minute
/** Limit per source address for requests on the way to a provider and back. Each costs a transaction. */
const stepsPerMinute = 1200

const signIn = { allows: (held: ProviderRow) => held.sign_in, isSignIn: true }

export type OpenedSession = { token: string; expiresAt: Date; next: string | null }
/** A request to sign in, as a page sends it. `browser` is the value of its cookie, old or new. */
export type WantedSignIn = {
  tenantName: string
  providerId: string
  next: string | undefined
  browser: string | undefined
}

/** Common part of all sign-ins through an identity provider, for both protocols. */
export function createOpening(
  deps: Pick<
    FederationDeps,
    'db' | 'audit' | 'changes' | 'now' | 'readToken' | 'peppers' | 'tenancy' | 'people' | 'onError'
  >,
) {
  const { db, audit, changes, readToken, peppers, tenancy, people } = deps
  const returns = createRefusedReturns(deps)
  const resolveAccount = createAccountResolution(deps)
  const steps = createRateLimiter()

  async function refuse(
    by: Source,
    provider: ProviderRow,
    reason: FederationError['reason'] | UnresolvedAccount,
    who?: { proven: ProvenIdentity; username: string | undefined },
  ): Promise<never> {
    const target = partyOf(provider)
    const username = who ? storable(who.username ?? usernameSaid(provider, who.proven), 256) : ''
    const fields = { username, failure_reason: `${provider.kind}:${reason}` }
    const details = who && { details: { subject: storable(who.proven.subject, 256) } }
    await audit.note(by, 'login.failed', fields, { outcome: 'refused', target, ...details })
    return unauthorized()
  }

  /** Throws `rate_limited`, which is recorded in this tenant if it is known. */
  async function takeStep(caller: Comer, tenant?: TenantId): Promise<void> {
    const wait = steps.take(sourceBlock(caller.sourceIp), stepsPerMinute, performance.now())
    if (wait === 0) return
    await returns.throttle(tenant, caller)
    throw tooMany('sign-ins from this address', wait)
  }

  async function saidOf(by: Source, provider: ProviderRow, proven: ProvenIdentity) {
    try {
      return mappedBy(provider, proven)
    } catch (e) {
      if (e instanceof FederationError) return refuse(by, provider, e.reason, { proven, username: undefined })
      throw e
    }
  }

  return {
    takeStep,
    refuseReturn: returns.refuse,
    /** Writes counts that are still in memory; at stop. */
    flush: returns.flush,

    /** Returns the provider for a sign-in. Throws `unauthorized` if nobody can sign in with it, and `rate_limited`. */
    wanted: async (
      way: SignInWay,
      { tenantName, providerId }: WantedSignIn,
      caller: Caller,
    ): Promise<{ tenant: TenantId; by: Source; provider: ProviderRow }> => {
      await takeStep(caller)
      const unknown = (reason: ReturnReason, tenant?: TenantId) =>
        returns.refuse({ way, reason, tenant, providerId: undefined }, caller)
      const tenant = (await tenancy.tenantByName(tenantName)) ?? (await unknown('unknown_tenant'))
      const provider =
        (await db.inTenant(tenant, (tx) => findProvider(tx, tenant, providerId))) ??
        (await unknown('unknown_provider', tenant))
      const by = strangerAt(tenant, caller)
      if (!provider.enabled || !provider.sign_in) return refuse(by, provider, 'turned_off')
      return { tenant, by, provider }
    },

    /** Returns the browser's cookie. A cookie of this tenant is kept, so that several sign-ins can run at once. */
    browserOf: (tenant: TenantId, shown: string | undefined) => {
      const known = shown === undefined ? undefined : readToken(shown)
      return known?.prefix === 'hfl' && known.tenant === tenant ? known : mintToken(peppers, 'hfl', tenant)
    },

    /** Records a provider's failure in the audit log and answers 401. */
    refusing: async <T>(by: Source, provider: ProviderRow, work: () => Promise<T>): Promise<T> => {
      try {
        return await work()
      } catch (e) {
        if (e instanceof FederationError) return refuse(by, provider, e.reason)
        throw e
      }
    },

    /** Opens a session in one transaction: finds the user, applies groups and roles, uses up the proof. */
    open: async (
      by: Source,
      provider: ProviderRow,
      proven: ProvenIdentity,
      { next, sid, spend }: { next: string | null; sid: string | null; spend: (tx: Tx) => Promise<void> },
    ): Promise<OpenedSession> => {
      const tenant = by.tenantId
      const limits = (await tenancy.settings(tenant)).sessions
      const said = await saidOf(by, provider, proven)
      const voucher = { id: provider.provider_id, name: provider.name }
      const session = await db
        .inTenant(tenant, async (tx) => {
          const { isMoved, ...who } = await resolveAccount(tx, by, { provider, proven, said }, signIn)
          await spend(tx)
          const there = { subject: proven.subject, sid }
          const opened = await people.openSession(tx, by, who, {
            by: voucher,
            there,
            authMethod: provider.kind,
            limits,
          })
          if (!opened) throw new RefusedSignIn('not_admitted', who.username)
          if (isMoved) await changes.record(tx, tenant, [{ kind: 'user', subject: who.userId }])
          return opened
        })
        .catch((e: unknown) => {
          if (e instanceof RefusedSignIn) return e
          throw e
        })
      if (session instanceof RefusedSignIn)
        return refuse(by, provider, session.reason, { proven, username: session.username })
      return { token: session.minted.token, expiresAt: session.expiresAt, next }
    },
  }
}
export type SignInOpening = ReturnType<typeof createOpening>
