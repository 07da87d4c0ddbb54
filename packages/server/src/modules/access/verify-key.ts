import { isStoredAs, type Peppers } from '@holdfast/crypto'
import type { Database } from '../../db/database.ts'
import type { PresentedToken } from '../../http/admission/authenticate.ts'
import type { Principal, RefusedCredential, TenantId } from '../../kernel/actor.ts'
import { isWithin } from '../../kernel/cidr.ts'
import { decodeId } from '../../kernel/ids.ts'
import { mapMaybePromise } from '../../kernel/maybe-promise.ts'
import { createWriteBehind } from '../../kernel/write-behind.ts'
import type { Changes } from '../../replication/changes.ts'
import { createCredentialCache } from '../../replication/credential-cache.ts'
import type { Memory } from '../../replication/tenant-cache.ts'
import { type ApiKeyRow, findKeyByLookup, findKeyOwner, writeActivity } from './api-keys.queries.ts'
import { type Owner, ownerOf } from './api-keys.ts'
import { boundedBy, isRole, permissionsOfRoles } from './roles.ts'

const activityWithinMs = 15_000

/** Reads the status of a tenant. */
export type StatusOf = (tenant: TenantId) => string | Promise<string>
type Known = {
  principal: Principal<'api_key'>
  owner: Owner | undefined
  isRevoked: boolean
  isOwnerGone: boolean
  expiresAt: Date | null
  allowedCidrs: readonly string[]
}

/**
 * Reads the current permissions of a key. Undefined if its owner is deleted, suspended or locked. For an owner in
 * another tenant: also undefined if that tenant is not active, or if the owner is no platform administrator.
 */
export const createKeyRights =
  ({ db, statusOf }: { db: Database; statusOf: StatusOf }) =>
  async (tenant: TenantId, key: RightsRow) => {
    const { role } = key
    const owner = ownerOf(key)
    // Keys from before the column `stands_for` have at least their creator.
    const maker = key.created_by === null ? undefined : decodeId('user', key.created_by)
    const makers = [...key.stands_for, ...(maker ? [maker] : [])]
    const ofMakers = { standsForPerson: false, standsFor: [...new Set(makers)] }
    if (!isRole(role)) return { roles: [], permissions: permissionsOfRoles([]), ...ofMakers }
    if (!owner) return { roles: [role], permissions: permissionsOfRoles([role]), ...ofMakers }
    const user = await db.inTenant(owner.tenantId, (tx) => findKeyOwner(tx, owner.tenantId, owner.userId))
    if (user?.status !== 'active') return undefined
    // Only a platform administrator may act in another tenant, and only from an active one.
    if (owner.tenantId !== tenant && !user.roles.includes('platform_admin')) return undefined
    if (owner.tenantId !== tenant && (await statusOf(owner.tenantId)) !== 'active') return undefined
    const standsForPerson = user.kind === 'person'
    const standsFor = [...new Set([...makers, ...(standsForPerson ? [owner.userId] : user.stands_for)])]
    return { ...boundedBy(role, user.roles.filter(isRole)), standsForPerson, standsFor }
  }
type RightsRow = Pick<ApiKeyRow, 'role' | 'owner_tenant_id' | 'owner_user_id' | 'stands_for' | 'created_by'>
export type RightsOf = ReturnType<typeof createKeyRights>

type Shown = { sourceIp: string; isAgain?: true }

export function createKeyVerifier(deps: {
  db: Database
  changes: Changes
  feed: Memory['feed']
  now: () => Date
  peppers: Peppers
  rightsOf: RightsOf
  onError: (e: Error) => void
}) {
  const { db, changes, feed, now, peppers, rightsOf } = deps

  async function load(presented: PresentedToken): Promise<Known | undefined> {
    const { tenant: tenantId, id } = presented
    const row = await db.inTenant(tenantId, (tx) => findKeyByLookup(tx, tenantId, id))
    if (!row || !isStoredAs(peppers, presented, row.secret_digest)) return undefined
    const owner = ownerOf(row)
    const rights = await rightsOf(tenantId, row)
    return {
      principal: {
        kind: 'api_key',
        tenantId,
        id: row.key_id,
        ownerId: owner?.userId ?? null,
        standsForPerson: rights?.standsForPerson ?? true,
        standsFor: rights?.standsFor ?? [],
        name: row.name,
        roles: rights?.roles ?? [],
        permissions: rights?.permissions ?? new Set(),
        directory: row.directory,
      },
      owner,
      isOwnerGone: rights === undefined,
      isRevoked: row.revoked_at !== null,
      expiresAt: row.expires_at,
      allowedCidrs: row.allowed_cidrs,
    }
  }
  const cache = createCredentialCache<PresentedToken, Known>({
    max: 50_000,
    feed,
    changes,
    load,
    subjectsOf: ({ principal, owner }) => [
      `api_key:${principal.id}`,
      ...(owner ? [`user:${owner.userId}`, `tenant:${owner.tenantId}`] : []),
    ],
  })
  const activity = createWriteBehind({
    write: async (batch) => {
      const usedKeys = [...batch].map(([key, at]) => {
        const [tenant_id = '', key_id = ''] = key.split('/')
        return { tenant_id, key_id, at }
      })
      await db.acrossTenants((tx) => writeActivity(tx, usedKeys))
    },
    onError: deps.onError,
  })

  const refused = (
    { principal: { tenantId, id, name } }: Known,
    reason: RefusedCredential['reason'],
  ): RefusedCredential => ({ kind: 'refused', of: 'api_key', tenantId, id, name, reason })

  const judge = (
    known: Known | undefined,
    { sourceIp, isAgain }: Shown,
  ): Principal<'api_key'> | RefusedCredential | undefined => {
    if (!known) return undefined
    const at = now()
    if (known.isRevoked) return refused(known, 'revoked')
    if (known.isOwnerGone) return refused(known, 'maker_gone')
    if (known.expiresAt && known.expiresAt <= at) return refused(known, 'expired')
    if (known.allowedCidrs.length > 0 && !isWithin(sourceIp, known.allowedCidrs)) return refused(known, 'wrong_address')
    if (!isAgain) activity.touch(`${known.principal.tenantId}/${known.principal.id}`, at, activityWithinMs)
    return known.principal
  }

  return {
    verifyApiKey: (presented: PresentedToken, incoming: Shown) =>
      mapMaybePromise(cache.get(presented), (known) => judge(known, incoming)),
    flushActivity: activity.flush,
  }
}
