import type { Database, Tx } from '../../db/database.ts'
import type { Actor, Source, TenantId } from '../../kernel/actor.ts'
import { fail } from '../../kernel/app-error.ts'
import { encodeId, missing } from '../../kernel/ids.ts'
import type { Change, Changes } from '../../memory/changes.ts'
import type { Audit } from '../audit/index.ts'
import { findKeysOf, findRolesOf, markAllRevoked, tenantsWithKeysOf } from './api-keys.queries.ts'
import type { Owner } from './api-keys.ts'
import { isRole, mayHandle } from './roles.ts'

/** The keys by which a user goes on without signing in: their own, and those that they or these keys made for others. */
export function createKeysOfUser({
  db,
  audit,
  changes,
  now,
}: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
}) {
  /** A key that was revoked since may have made one that works. */
  async function workingIn(tx: Tx, tenant: TenantId, owner: Owner): Promise<string[]> {
    const found = new Map<string, boolean>()
    for (let makers = [encodeId('user', owner.userId)]; makers.length > 0; ) {
      const rows = await findKeysOf(tx, tenant, { owner, makers })
      const added = rows.filter((row) => !found.has(row.key_id))
      for (const { key_id, revoked } of added) found.set(key_id, revoked)
      makers = added.map(({ key_id }) => encodeId('api_key', key_id))
    }
    return [...found].flatMap(([id, revoked]) => (revoked ? [] : [id]))
  }

  /** Revokes them in the transaction of the caller, who records the changes that it answers. */
  async function revokeIn(tx: Tx, source: Source, owner: Owner, reason: string | undefined): Promise<Change[]> {
    const { tenantId: tenant } = source
    const ids = await workingIn(tx, tenant, owner)
    const revoked = ids.length === 0 ? [] : await markAllRevoked(tx, tenant, ids, now())
    await audit.recordAll(
      tx,
      revoked.map(({ key_id, name, owner_user_id }) => ({
        source,
        kind: 'api_key.revoked',
        fields: {
          key_id: encodeId('api_key', key_id),
          ...(owner_user_id !== null && { user_id: encodeId('user', owner_user_id) }),
        },
        more: {
          target: { type: 'api_key', id: encodeId('api_key', key_id), name },
          ...(reason !== undefined && { details: { reason } }),
        },
      })),
    )
    return revoked.map(({ key_id }) => ({ kind: 'api_key', subject: key_id }))
  }

  const otherTenants = (owner: Owner) =>
    db.acrossTenants((tx) => tenantsWithKeysOf(tx, owner, encodeId('user', owner.userId)))
  /** Only a platform administrator has keys in other tenants. Each is a change of its own; what is asked for comes last. */
  async function revokeElsewhere(source: Source, owner: Owner, reason: string | undefined): Promise<string[]> {
    const ids: string[] = []
    for (const tenant of await otherTenants(owner)) {
      const there = { ...source, tenantId: tenant, claim: null }
      await db.inTenant(tenant, async (tx) => {
        const revoked = await revokeIn(tx, there, owner, reason)
        if (revoked.length > 0) await changes.record(tx, tenant, revoked)
        ids.push(...revoked.map((change) => change.subject))
      })
    }
    return ids
  }

  return {
    revokeIn,
    revokeElsewhere,
    /** How many keys the user has here that are not revoked. */
    countIn: async (tx: Tx, tenant: TenantId, owner: Owner): Promise<number> =>
      (await workingIn(tx, tenant, owner)).length,

    /** The UUIDs of what it revoked, or would. */
    revokeAll: async (
      actor: Actor,
      userId: string,
      { reason, dryRun }: { reason: string | undefined; dryRun: boolean },
    ): Promise<string[]> => {
      const { tenantId: tenant } = actor
      const owner = { tenantId: tenant, userId }
      const judge = async (tx: Tx) => {
        const roles = (await findRolesOf(tx, tenant, userId)) ?? missing('user')
        const beyond = roles.find((role) => isRole(role) && !mayHandle(actor, role))
        if (beyond) fail('forbidden', `this user has the role ${beyond}, which allows more than you may do yourself`)
        return dryRun ? workingIn(tx, tenant, owner) : []
      }
      const wouldGo = await db.inTenant(tenant, judge)
      if (dryRun) return wouldGo
      const elsewhere = await revokeElsewhere(actor, owner, reason)
      return db.inTenant(tenant, async (tx) => {
        await judge(tx)
        const revoked = await revokeIn(tx, actor, owner, reason)
        if (revoked.length > 0) await changes.record(tx, tenant, revoked)
        return [...elsewhere, ...revoked.map((change) => change.subject)]
      })
    },
  }
}
export type KeysOfUser = ReturnType<typeof createKeysOfUser>
