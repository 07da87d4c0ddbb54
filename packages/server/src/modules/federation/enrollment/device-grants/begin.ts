import type { Actor } from '../../../../kernel/actor.ts'
import { tooMany } from '../../../../kernel/app-error.ts'
import { sourceBlock } from '../../../../kernel/cidr.ts'
import { encodeId } from '../../../../kernel/ids.ts'
import { minute, second } from '../../../../kernel/time.ts'
import type { FederationDeps } from '../../deps.ts'
import type { DeviceAuthorization } from '../../protocols/oidc/device-grant.ts'
import type { Oidc } from '../../protocols/oidc/oidc.ts'
import { FederationError } from '../../protocols/proven-identity.ts'
import { oidcOf } from '../../providers/kinds.ts'
import { findProvider, type ProviderRow } from '../../providers/providers.queries.ts'
import type { Providers } from '../../providers/providers.ts'
import type { NotProven } from '../enrolling.ts'
import type { GrantKey } from './grants.queries.ts'
import * as queries from './grants.queries.ts'
import { enrollsByDeviceCode } from './polling.ts'
import type { GrantSecrets } from './secrets.ts'

/** Limits of open grants, per tenant and per source address. One address may stand for many machines (NAT). */
const mostOfTenant = 500
const mostOfSource = 50
/** Time for the provider to begin a grant. */
const startsWithinMs = minute

type BegunGrant = Pick<DeviceAuthorization, 'userCode' | 'verificationUri' | 'verificationUriComplete'> & {
  intervalSeconds: number
  expiresAt: Date
}

/**
 * Begins a grant. A row that counts against the limits is inserted first. Then the provider is asked, and its answer is
 * stored for the polls. The machine receives the user code and the addresses, and nothing that can be redeemed.
 */
export function createGrantBegin({
  db,
  audit,
  now,
  oidc,
  providers,
  secrets,
}: Pick<FederationDeps, 'db' | 'audit' | 'now'> & {
  oidc: Pick<Oidc, 'authorizeDevice'>
  providers: Pick<Providers, 'clientOf'>
  secrets: GrantSecrets
}) {
  const later = (ms: number) => new Date(now().getTime() + ms)

  /** Inserts the grant in the state `starting`. Returns the provider, or the reason for the refusal. */
  const reserve = (by: Actor, key: GrantKey, providerId: string): Promise<ProviderRow | NotProven['refused']> => {
    const tenant = by.tenantId
    const source = sourceBlock(by.sourceIp)
    return db.inTenant(tenant, async (tx) => {
      await queries.lockNewGrants(tx, tenant)
      const provider = await findProvider(tx, tenant, providerId)
      if (!provider) return 'unknown_provider'
      if (!enrollsByDeviceCode(provider)) return 'turned_off'
      const { ofTenant, ofSource } = await queries.countOpenGrants(tx, tenant, source, now())
      if (ofTenant >= mostOfTenant || ofSource >= mostOfSource) throw tooMany('machines that wait for approval', 60)
      const times = { next_poll_at: later(startsWithinMs), expires_at: later(startsWithinMs) }
      const row = { ...key, ...times, tenant_id: tenant, provider_id: providerId, source, interval_seconds: 0 }
      const none = { end_reason: null, secret_jwe: null, poller: null }
      const isFirst = await queries.insertDeviceGrant(tx, { ...row, ...none, state: 'starting' })
      return isFirst ? provider : 'replayed'
    })
  }

  const keep = async (
    by: Actor,
    key: GrantKey,
    { provider, given, until }: { provider: ProviderRow; given: DeviceAuthorization; until: Date },
  ): Promise<BegunGrant | undefined> => {
    const { deviceCode, intervalSeconds, expiresInSeconds, ...shown } = given
    const { provider_id, name } = provider
    const { issuer, client_id } = oidcOf(provider)
    const secret_jwe = await secrets.sealCode({ ...key, provider_id }, { device_code: deviceCode, issuer, client_id })
    const expiresAt = new Date(Math.min(later(expiresInSeconds * second).getTime(), until.getTime()))
    const times = { next_poll_at: later(intervalSeconds * second), expires_at: expiresAt }
    const opened = { secret_jwe, interval_seconds: intervalSeconds, ...times }
    const id = encodeId('identity_provider', provider_id)
    const isOpen = await db.inTenant(by.tenantId, async (tx) => {
      const isMine = await queries.openGrant(tx, by.tenantId, key, opened)
      const target = { type: 'identity_provider', id, name }
      if (isMine) await audit.record(tx, by, 'device_grant.created', { provider_id: id }, { target })
      return isMine
    })
    return isOpen ? { ...shown, intervalSeconds, expiresAt } : undefined
  }

  /** `until`: end of the machine's enrollment challenge. */
  return async (
    by: Actor,
    key: GrantKey,
    { providerId, until }: { providerId: string; until: Date },
  ): Promise<BegunGrant | NotProven> => {
    const provider = await reserve(by, key, providerId)
    if (typeof provider === 'string') return { refused: provider }
    try {
      const given = await oidc.authorizeDevice(await providers.clientOf(provider))
      return (await keep(by, key, { provider, given, until })) ?? { refused: 'expired' }
    } catch (e) {
      await db.inTenant(by.tenantId, (tx) => queries.dropGrant(tx, by.tenantId, key))
      if (e instanceof FederationError) return { refused: e.reason }
      throw e
    }
  }
}
