import { createHash } from 'node:crypto'
import type { Caller, Source } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { createRepeatCounter } from '../../../kernel/repeat-counter.ts'
import { second } from '../../../kernel/time.ts'
import type { FederationDeps } from '../deps.ts'
import { skewSeconds } from '../protocols/oidc/id-token.ts'
import type { SignedOut } from '../protocols/oidc/logout-token.ts'
import { issuedWithinSeconds, type Oidc } from '../protocols/oidc/oidc.ts'
import { FederationError } from '../protocols/proven-identity.ts'
import { oidcOf } from '../providers/kinds.ts'
import { findProvider, lockProvider, type ProviderRow } from '../providers/providers.queries.ts'
import { partyOf, type UnresolvedAccount } from '../sign-in/account-resolution.ts'
import type { SignInOpening } from '../sign-in/opening.ts'
import { strangerAt } from '../sign-in/refused-returns.ts'
import { spendLogoutToken } from './logout.queries.ts'

type Refusal = FederationError['reason'] | Extract<UnresolvedAccount, 'turned_off' | 'provider_changed' | 'replayed'>

/** One message for every reason. */
const refuse = (): never => fail('forbidden', 'the logout token is not accepted')

type LogoutDeps = Pick<FederationDeps, 'db' | 'audit' | 'changes' | 'tenancy' | 'people' | 'onError'> & {
  oidc: Pick<Oidc, 'verifyLogout'>
  opening: Pick<SignInOpening, 'takeStep'>
}

/**
 * Back-channel logout (OpenID Connect Back-Channel Logout): a token counts once, and ends the sessions that it names on
 * every replica. The answer to a refused token gives no reason.
 */
export function createLogout({ db, audit, changes, tenancy, people, oidc, opening, onError }: LogoutDeps) {
  // Anybody can send an invalid token. The first refusal is recorded at once, the following ones as a count.
  const refusals = createRepeatCounter<Source & { provider: ProviderRow; reason: Refusal }>({
    onError,
    keyOf: ({ tenantId, provider, reason, name }) => `${tenantId} ${provider.provider_id} ${reason} ${name}`,
    record: ({ provider, reason, ...by }, refused) => {
      const target = partyOf(provider)
      const fields = { provider_id: target.id, reason, refused }
      return audit.note(by, 'backchannel_logout.refused', fields, { outcome: 'refused', target })
    },
  })

  async function judge(provider: ProviderRow, token: string): Promise<SignedOut | Refusal> {
    if (!provider.enabled || !provider.sign_in) return 'turned_off'
    try {
      const { kind, issuer, client_id } = oidcOf(provider)
      return await oidc.verifyLogout({ kind, issuer }, token, client_id)
    } catch (e) {
      if (e instanceof FederationError) return e.reason
      throw e
    }
  }

  /**
   * Ends the sessions in one transaction. The lock on the provider keeps it from opening sessions meanwhile; a later
   * sign-in finds the token.
   */
  const end = (by: Source, provider: ProviderRow, { subject, sid, issuedAt, jti }: SignedOut) =>
    db.inTenant(by.tenantId, async (tx): Promise<Refusal | undefined> => {
      const { tenantId } = by
      const { provider_id } = provider
      const held = await lockProvider(tx, tenantId, provider_id)
      if (!held?.enabled || !held.sign_in) return 'turned_off'
      if (held.oidc?.issuer !== provider.oidc?.issuer || held.oidc?.client_id !== provider.oidc?.client_id)
        return 'provider_changed'
      const token = {
        tenant_id: tenantId,
        provider_id,
        jti_digest: createHash('sha256').update(jti).digest(),
        subject,
        sid,
        issued_at: issuedAt,
        good_until: new Date(issuedAt.getTime() + (issuedWithinSeconds + 2 * skewSeconds) * second),
      }
      if (!(await spendLogoutToken(tx, token))) return 'replayed'
      const ended = await people.endSessionsThere(tx, by, provider_id, { subject, sid })
      const target = partyOf(provider)
      const fields = { provider_id: target.id, sessions_ended: ended.length }
      const details = { ...(subject !== null && { subject }), ...(sid !== null && { sid }) }
      await audit.record(tx, by, 'backchannel_logout.received', fields, { target, details })
      if (ended.length > 0) await changes.record(tx, tenantId, ended)
    })

  /** Throws `forbidden` for a token that is not accepted, and `rate_limited`. */
  async function logout(
    { tenantName, providerId, token }: { tenantName: string; providerId: string | undefined; token: string },
    caller: Caller,
  ): Promise<void> {
    await opening.takeStep(caller)
    const tenant = await tenancy.tenantByName(tenantName)
    if (tenant === undefined || providerId === undefined) return refuse()
    const provider = await db.inTenant(tenant, (tx) => findProvider(tx, tenant, providerId))
    if (!provider) return refuse()
    const anonymous = strangerAt(tenant, caller)
    const judged = await judge(provider, token)
    const by = { ...anonymous, ...partyOf(provider) }
    const reason = typeof judged === 'string' ? judged : await end(by, provider, judged)
    if (reason === undefined) return
    await refusals.count({ ...anonymous, provider, reason })
    refuse()
  }

  return { logout, flush: refusals.flush }
}
export type Logout = ReturnType<typeof createLogout>
