import { replacedSecretHours } from '@holdfast/contract/limits'
import { digestSecret, equalDigest, isStoredAs, mintToken } from '@holdfast/crypto'
import type { Tx } from '../../../db/database.ts'
import type { IncomingRequest, PresentedToken } from '../../../http/admission/authenticate.ts'
import type { Principal, RefusedCredential, TenantId } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { decodeId, newUuid } from '../../../kernel/ids.ts'
import { hour } from '../../../kernel/time.ts'
import { createCredentialCache } from '../../../replication/credential-cache.ts'
import type { GatewaysDeps } from '../deps.ts'
import { lockGateway } from './gateways.queries.ts'
import type { Registry } from './registry.ts'
import * as queries from './secrets.queries.ts'

type Known = { principal: Principal<'gateway'>; validUntil: Date | null; isLocked: boolean }
type NewSecret = { token: string; digest: queries.Digest }

/**
 * Service secrets of gateways (`hfg_…`), stored as HMAC digests and looked up by their public part. During a rotation
 * two are valid: the one in use, with an end, and the newest. The first use of the newest ends the other.
 */
export function createGatewaySecrets({
  db,
  changes,
  feed,
  now,
  peppers,
  serviceSecrets,
  registry,
}: Pick<GatewaysDeps, 'db' | 'changes' | 'feed' | 'now' | 'peppers' | 'serviceSecrets'> & { registry: Registry }) {
  const digestOf = (secret: string) => digestSecret(peppers, secret).digest
  const serviceDigests = serviceSecrets.map(digestOf)

  const cache = createCredentialCache<PresentedToken, Known>({
    max: 50_000,
    feed,
    changes,
    load,
    subjectsOf: ({ principal }) => [`gateway:${principal.id}`],
  })

  async function load(presented: PresentedToken): Promise<Known | undefined> {
    const { tenant: tenantId, id } = presented
    return db.inTenant(tenantId, async (tx) => {
      const row = await queries.findSecret(tx, tenantId, id)
      if (!row || !isStoredAs(peppers, presented, row.secret_digest)) return undefined
      if (row.valid_until === null && row.another_is_ending && !(await endReplaced(tx, tenantId, row))) return undefined
      return {
        principal: { kind: 'gateway', tenantId, id: row.gateway_id, name: row.name, poolId: row.pool_id },
        validUntil: row.valid_until,
        isLocked: row.locked,
      }
    })
  }

  /** Handles the first use of the newest secret. False if another rotation dropped it meanwhile. */
  async function endReplaced(
    tx: Tx,
    tenant: TenantId,
    { gateway_id, secret_id }: { gateway_id: string; secret_id: string },
  ) {
    if (!(await lockGateway(tx, tenant, gateway_id))) return false
    if (!(await queries.isNewest(tx, tenant, gateway_id, secret_id))) return false
    const ended = await queries.endReplaced(tx, tenant, gateway_id)
    if (ended.length > 0) await changes.record(tx, tenant, [{ kind: 'gateway', subject: gateway_id }])
    return true
  }

  /** Operational tooling names the gateway that it acts for. An unknown gateway is 404: the secret itself is valid. */
  async function speakFor(scope: IncomingRequest['scope']): Promise<Principal<'gateway'> | RefusedCredential> {
    if (scope.tenant_id === undefined || scope.gateway_id === undefined)
      fail('forbidden', 'a request with the deployment-wide secret must have tenant_id and gateway_id in the query')
    const tenantId = decodeId('tenant', scope.tenant_id) as TenantId | undefined
    const gatewayId = decodeId('gateway', scope.gateway_id)
    const gateway = tenantId && gatewayId ? (await registry.of(tenantId)).gateways.get(gatewayId) : undefined
    if (!tenantId || !gateway) return fail('not_found', 'no such gateway')
    const { gateway_id: id, name, pool_id: poolId } = gateway
    return gateway.locked
      ? refused({ tenantId, id, name }, 'suspended')
      : { kind: 'gateway', tenantId, id, name, poolId }
  }

  return {
    /** Verifies a gateway's own secret, for the request pipeline. Naming another gateway is 403. */
    verify: async (
      presented: PresentedToken,
      incoming: Pick<IncomingRequest, 'scope'>,
    ): Promise<Principal<'gateway'> | RefusedCredential | undefined> => {
      const known = await cache.get(presented)
      if (!known) return undefined
      const isOver = known.validUntil !== null && known.validUntil <= now()
      if (known.isLocked || isOver) return refused(known.principal, known.isLocked ? 'suspended' : 'superseded')
      const { tenant_id, gateway_id } = incoming.scope
      if (tenant_id !== undefined && decodeId('tenant', tenant_id) !== known.principal.tenantId)
        fail('forbidden', 'tenant_id: is not the tenant of your credential')
      if (gateway_id !== undefined && decodeId('gateway', gateway_id) !== known.principal.id)
        fail('forbidden', 'gateway_id: is not the gateway of your credential')
      return known.principal
    },

    /**
     * The deployment-wide secret. The operator chose it, so only a comparison distinguishes it from other credentials.
     */
    service: {
      is: (text: string): boolean => {
        if (!serviceSecrets.some((secret) => secret.length === text.length)) return false
        const digest = digestOf(text)
        return serviceDigests.some((known) => equalDigest(known, digest))
      },
      verify: (_: string, incoming: Pick<IncomingRequest, 'scope'>) => speakFor(incoming.scope),
    },

    /** Called before the transaction that stores the secret. */
    mint: (tenant: TenantId): NewSecret => {
      const { token, id, digest, version } = mintToken(peppers, 'hfg', tenant)
      return { token, digest: { lookup: id, secret_digest: digest, secret_digest_version: version } }
    },
    store: (tx: Tx, tenant: TenantId, gatewayId: string, { digest }: NewSecret) =>
      queries.insertSecret(tx, tenant, gatewayId, newUuid(), digest, now()),

    /**
     * Runs under the gateway's lock. Returns the end of the secret in use. A newest secret that was never used is
     * dropped: the gateway still uses the one before it, whose end stays unchanged.
     */
    replace: async (tx: Tx, tenant: TenantId, gatewayId: string, secret: NewSecret): Promise<Date> => {
      const at = now()
      await queries.endExpired(tx, tenant, gatewayId, at)
      const inUse = await queries.findReplaced(tx, tenant, gatewayId)
      const until = inUse?.valid_until ?? new Date(at.getTime() + replacedSecretHours * hour)
      if (inUse) await queries.endUnused(tx, tenant, gatewayId)
      else await queries.limitCurrent(tx, tenant, gatewayId, until)
      await queries.insertSecret(tx, tenant, gatewayId, newUuid(), secret.digest, at)
      return until
    },
    endAll: queries.endAll,
  }
}
export type GatewaySecrets = ReturnType<typeof createGatewaySecrets>

const refused = (
  { tenantId, id, name }: Pick<Principal<'gateway'>, 'tenantId' | 'id' | 'name'>,
  reason: RefusedCredential['reason'],
): RefusedCredential => ({ kind: 'refused', of: 'gateway', tenantId, id, name, reason })
