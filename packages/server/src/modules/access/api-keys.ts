import type { Role } from '@holdfast/contract/vocabulary'
import { mintToken, type Peppers } from '@holdfast/crypto'
import { background, type Database, type Tx } from '../../db/database.ts'
import { type Actor, type Principal, personsBehind, type Source, type TenantId } from '../../kernel/actor.ts'
import { type LimitGrant, unlimited } from '../../kernel/allowance.ts'
import { fail, failField, unauthorized } from '../../kernel/app-error.ts'
import { isCidr, isPartOf } from '../../kernel/cidr.ts'
import { eachTenant } from '../../kernel/each-tenant.ts'
import type { ExpiringObject } from '../../kernel/expiring-object.ts'
import { decodeId, encodeId, missing, newUuid } from '../../kernel/ids.ts'
import { second } from '../../kernel/time.ts'
import type { Changes } from '../../replication/changes.ts'
import type { Audit } from '../audit/index.ts'
import type { Entitlements } from '../tenancy/index.ts'
import {
  type ApiKeyRow,
  countEnding,
  type EndsWithin,
  endingKeys,
  findBounds,
  findKey,
  findKeyOwner,
  insertKey,
  markRevoked,
  noteExpired,
} from './api-keys.queries.ts'
import { createEndKeys } from './end-keys.ts'
import { covers, isRole, mayHandle, permissionsOfRoles } from './roles.ts'

export type NewApiKey = {
  name: string
  role: Role
  user_id?: string
  expires_in_seconds?: number
  allowed_cidrs?: string[]
  /** The directory that the key provisions. The key can do nothing else. */
  directory?: string
}
/** The user whose permissions limit a key. */
export type Owner = { tenantId: TenantId; userId: string }
export type ApiKeysDeps = {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  peppers: Peppers
  entitlements: Entitlements
}

export function createApiKeys({ db, audit, changes, now, peppers, entitlements }: ApiKeysDeps) {
  /** Counts one more key. At the limit, keys that have expired since the last check are subtracted first. */
  const takePlace = async (tx: Tx, tenant: TenantId, at: Date): Promise<LimitGrant> => {
    const places = await entitlements.hold(tx, tenant, 'api_keys')
    if (places.room() < 1) places.take(-(await noteExpired(tx, tenant, at)))
    return places.take(1)
  }

  /** Creates a key. The caller has already checked that the actor may grant the role. */
  const mint = async (
    source: Source,
    newKey: NewApiKey,
    { maker, owner, standsFor }: Minting = { standsFor: [] },
  ): Promise<{ row: ApiKeyRow; secret: string }> => {
    const { token, id: lookup, hint, digest, version } = mintToken(peppers, 'hfk', source.tenantId)
    // The key that creates this one may belong to another tenant.
    const at = now()
    const requestedLimits = { expiresAt: endOf(newKey, at), allowedCidrs: newKey.allowed_cidrs ?? [], owner: undefined }
    const bounds = maker
      ? await db.inTenant(maker.tenantId, (tx) => boundsOf(tx, maker, requestedLimits))
      : requestedLimits
    const whose = owner ?? bounds.owner
    return db.inTenant(source.tenantId, async (tx) => {
      const granted = source.type === 'job' ? unlimited : await takePlace(tx, source.tenantId, at)
      const row = {
        tenant_id: source.tenantId,
        key_id: newUuid(),
        hint,
        name: newKey.name,
        role: newKey.role,
        allowed_cidrs: bounds.allowedCidrs,
        created_by: source.id,
        created_at: at,
        expires_at: bounds.expiresAt,
        owner_tenant_id: whose?.tenantId ?? null,
        owner_user_id: whose?.userId ?? null,
        directory: newKey.directory ?? null,
        stands_for: [...standsFor],
      }
      await insertKey(tx, granted, { ...row, lookup, secret_digest: digest, secret_digest_version: version })
      const fields = { ...saidOf(row), role: row.role }
      await audit.record(tx, source, 'api_key.created', fields, { target: targetOf(row) })
      return { row: { ...row, revoked_at: null, last_used_at: null }, secret: token }
    })
  }

  /**
   * Finds the service account that is to own a key, and checks that its roles cover the key's role. The caller has
   * already checked that the actor holds that role too.
   */
  const accountOf = async ({ tenantId }: Actor, user: string, role: Role): Promise<Owner> => {
    const userId = decodeId('user', user) ?? failField('user_id', 'no such user')
    const account = await db.inTenant(tenantId, (tx) => findKeyOwner(tx, tenantId, userId))
    if (account?.kind !== 'service') failField('user_id', 'is not a service account of this tenant')
    if (!covers(account.roles.filter(isRole), role))
      failField('role', `${account.username} does not have all permissions of the role ${role}`)
    return { tenantId, userId }
  }

  return {
    mint,

    create: async (actor: Actor, newKey: NewApiKey) => {
      if (!mayHandle(actor, newKey.role))
        fail('forbidden', `the role ${newKey.role} has permissions that you do not have`)
      for (const [i, cidr] of (newKey.allowed_cidrs ?? []).entries())
        if (!isCidr(cidr)) failField(`allowed_cidrs[${i}]`, 'must be an address or a CIDR such as 192.0.2.0/24')
      if (newKey.directory !== undefined && !permissionsOfRoles([newKey.role]).has('directory:sync'))
        failField('role', `lacks the permission directory:sync, which SCIM provisioning needs`)
      const { principal } = actor
      const owner =
        newKey.user_id === undefined ? personOf(principal) : await accountOf(actor, newKey.user_id, newKey.role)
      const maker = principal.kind === 'api_key' ? principal : undefined
      return mint(actor, newKey, { maker, owner, standsFor: personsBehind(actor) })
    },

    /** Idempotent: a revoked key stays as it is. */
    revoke: (actor: Actor, id: string, reason: string | undefined): Promise<{ row: ApiKeyRow; changed: boolean }> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const found = (await findKey(tx, actor.tenantId, id, now())) ?? missing('api_key')
        if (isRole(found.role) && !mayHandle(actor, found.role))
          fail('forbidden', `this key has the role ${found.role}, which has permissions that you do not have`)
        const at = now()
        if (!(await markRevoked(tx, actor.tenantId, id, at))) {
          // Another transaction revoked the key after it was read.
          return { row: (await findKey(tx, actor.tenantId, id, at)) ?? found, changed: false }
        }
        const more = { target: targetOf(found), ...(reason !== undefined && { details: { reason } }) }
        await audit.record(tx, actor, 'api_key.revoked', saidOf(found), more)
        await changes.record(tx, actor.tenantId, [{ kind: 'api_key', subject: id }])
        return { row: { ...found, revoked_at: at }, changed: true }
      }),

    endOfUsers: createEndKeys({ audit, now }),

    /** Marks expired keys, so that they no longer count against the limit. */
    noteExpired: async (tenants: readonly TenantId[]): Promise<void> => {
      await eachTenant(tenants, (tenant) => db.inTenant(tenant, (tx) => noteExpired(tx, tenant, now()), background))
    },

    /** Active keys with an expiry, soonest first. Keys without an expiry are left out. */
    ending: async (
      tenant: TenantId,
      within: EndsWithin,
      { behind, most }: { behind?: { expiresAt: Date; keyId: string }; most: number },
    ): Promise<(ExpiringObject & { keyId: string })[]> => {
      const rows = await db.inTenant(tenant, (tx) => endingKeys(tx, tenant, within, behind, most))
      return rows.map(({ key_id: keyId, name, created_at: since, expires_at }) => ({
        type: 'api_key',
        id: encodeId('api_key', keyId),
        keyId,
        name,
        since,
        expiresAt: expires_at!,
        renewal: 'by_hand',
      }))
    },
    countEnding: (tenant: TenantId, each: readonly EndsWithin[]): Promise<number[]> =>
      db.inTenant(tenant, async (tx) => {
        const counts: number[] = []
        for (const within of each) counts.push(await countEnding(tx, tenant, within))
        return counts
      }),
  }
}
export type ApiKeys = ReturnType<typeof createApiKeys>

const personOf = (principal: Principal): Owner | undefined =>
  principal.kind === 'session' ? { tenantId: principal.tenantId, userId: principal.userId } : undefined

export const ownerOf = (row: Pick<ApiKeyRow, 'owner_tenant_id' | 'owner_user_id'>): Owner | undefined =>
  row.owner_tenant_id === null || row.owner_user_id === null
    ? undefined
    : { tenantId: row.owner_tenant_id, userId: row.owner_user_id }

type Maker = { tenantId: TenantId; id: string }
/** The key that creates the new one (if any), the owner, and the users whose limits apply. */
type Minting = { maker?: Maker | undefined; owner?: Owner | undefined; standsFor: readonly string[] }
type Bounds = { expiresAt: Date | null; allowedCidrs: string[]; owner: Owner | undefined }
/**
 * Limits of a key created by another key: it expires no later and works from no other address. Unset values are copied
 * from the creating key.
 */
async function boundsOf(tx: Tx, maker: Maker, { expiresAt, allowedCidrs }: Bounds): Promise<Bounds> {
  const limits = await findBounds(tx, maker.tenantId, maker.id)
  if (!limits) return unauthorized()
  if (limits.expires_at && expiresAt && expiresAt > limits.expires_at)
    fail(
      'forbidden',
      `an API key created with your API key must not expire later than your key, which expires at ${limits.expires_at.toISOString()}`,
    )
  const outside = limits.allowed_cidrs.length > 0 && allowedCidrs.find((c) => !isPartOf(c, limits.allowed_cidrs))
  if (outside)
    fail(
      'forbidden',
      `an API key created with your API key cannot allow ${outside}, because your key does not allow it`,
    )
  return {
    expiresAt: expiresAt ?? limits.expires_at,
    allowedCidrs: allowedCidrs.length > 0 ? allowedCidrs : limits.allowed_cidrs,
    owner: ownerOf(limits),
  }
}
const endOf = ({ expires_in_seconds: seconds }: NewApiKey, at: Date): Date | null =>
  seconds === undefined ? null : new Date(at.getTime() + seconds * second)

/** Audit fields of a key: its ID and its owner. */
const saidOf = ({ key_id, owner_user_id }: Pick<ApiKeyRow, 'key_id' | 'owner_user_id'>) => ({
  key_id: encodeId('api_key', key_id),
  ...(owner_user_id !== null && { user_id: encodeId('user', owner_user_id) }),
})
const targetOf = (key: { key_id: string; name: string }) => ({
  type: 'api_key',
  id: encodeId('api_key', key.key_id),
  name: key.name,
})
