import type { Tx } from '../../db/database.ts'
import type { Actor, Source, TenantId } from '../../kernel/actor.ts'
import { fail } from '../../kernel/app-error.ts'
import { encodeId, missing } from '../../kernel/ids.ts'
import type { Change } from '../../replication/changes.ts'
import { findKeysOf, findRolesOf, markAllRevoked, tenantsWithKeysOf } from './api-keys.queries.ts'
import type { ApiKeysDeps, Owner } from './api-keys.ts'
import { recordRevokedKeys } from './end-keys.ts'
import { isRole, mayHandle } from './roles.ts'

/** Enrollment tokens, by the people and API keys (`makers`, TypeIDs) that made them. */
export type TokensOfMakers = {
  /** UUIDs of those that work. */
  find: (tx: Tx, tenant: TenantId, makers: readonly string[]) => Promise<string[]>
  /** Revokes them, on record. The caller records the changes. */
  revoke: (tx: Tx, source: Source, makers: readonly string[], reason: string | undefined) => Promise<Change[]>
  /** All tenants that have such tokens. */
  tenants: (makers: readonly string[]) => Promise<TenantId[]>
}

export type KeysOfUserDeps = ApiKeysDeps & {
  /** Enrollment tokens that are revoked together with a user's API keys. */
  tokensOfMakers: () => TokensOfMakers
}

/** UUIDs of API keys and of enrollment tokens. */
type Ids = { keys: string[]; tokens: string[] }

/**
 * API keys with which a user can act without signing in. These are the user's own keys, and keys created by the user or
 * by one of these keys. Enrollment tokens created by any of them are revoked with them.
 */
export function createKeysOfUser({ db, audit, changes, now, tokensOfMakers }: KeysOfUserDeps) {
  const userOf = (owner: Owner) => encodeId('user', owner.userId)

  /**
   * Finds the keys that are not revoked, and all possible creators of keys and tokens. Revoked keys are among the
   * creators, because they may have created keys that still work. `from`: creators that are already known, such as keys
   * in the platform administrator's own tenant.
   */
  async function keysIn(tx: Tx, tenant: TenantId, owner: Owner, from: readonly string[] = [userOf(owner)]) {
    const found = new Map<string, boolean>()
    const makers = new Set(from)
    for (let next = from; next.length > 0; ) {
      const rows = await findKeysOf(tx, tenant, { owner, makers: next })
      const added = rows.filter((row) => !found.has(row.key_id))
      for (const { key_id, revoked } of added) found.set(key_id, revoked)
      next = added.map(({ key_id }) => encodeId('api_key', key_id))
      for (const maker of next) makers.add(maker)
    }
    return { working: [...found].flatMap(([id, revoked]) => (revoked ? [] : [id])), makers: [...makers] }
  }

  async function revokeKeys(tx: Tx, source: Source, ids: readonly string[], reason: string | undefined) {
    const revoked = ids.length === 0 ? [] : await markAllRevoked(tx, source.tenantId, ids, now())
    return recordRevokedKeys(audit, tx, source, revoked, reason)
  }

  /** Revokes the keys in the caller's transaction. The caller must record the returned changes. */
  async function revokeIn(tx: Tx, source: Source, owner: Owner, reason: string | undefined): Promise<Change[]> {
    return revokeKeys(tx, source, (await keysIn(tx, source.tenantId, owner)).working, reason)
  }

  /** Revokes the keys, and the enrollment tokens created by the user or by one of the keys. */
  async function endIn(
    tx: Tx,
    source: Source,
    owner: Owner,
    reason: string | undefined,
    from?: readonly string[],
  ): Promise<{ keys: Change[]; tokens: Change[] }> {
    const { working, makers } = await keysIn(tx, source.tenantId, owner, from)
    const keys = await revokeKeys(tx, source, working, reason)
    return { keys, tokens: await tokensOfMakers().revoke(tx, source, makers, reason) }
  }

  /**
   * Revokes keys and tokens in other tenants; only a platform administrator can have any there. Each tenant is a
   * separate transaction. The caller handles the user's own tenant last.
   */
  async function endElsewhere(
    source: Source,
    owner: Owner,
    reason: string | undefined,
    what: 'keys' | 'keys and tokens',
  ): Promise<Ids> {
    const { makers } = await db.inTenant(owner.tenantId, (tx) => keysIn(tx, owner.tenantId, owner))
    const withKeys = await db.acrossTenants((tx) => tenantsWithKeysOf(tx, owner, makers))
    const withTokens = what === 'keys' ? [] : await tokensOfMakers().tenants(makers)
    const ended: Ids = { keys: [], tokens: [] }
    for (const tenant of new Set([...withKeys, ...withTokens])) {
      if (tenant === owner.tenantId) continue
      const there = { ...source, tenantId: tenant, claim: null }
      await db.inTenant(tenant, async (tx) => {
        const { keys, tokens } =
          what === 'keys'
            ? {
                keys: await revokeKeys(tx, there, (await keysIn(tx, tenant, owner, makers)).working, reason),
                tokens: [],
              }
            : await endIn(tx, there, owner, reason, makers)
        if (keys.length + tokens.length > 0) await changes.record(tx, tenant, [...keys, ...tokens])
        ended.keys.push(...keys.map((change) => change.subject))
        ended.tokens.push(...tokens.map((change) => change.subject))
      })
    }
    return ended
  }

  return {
    revokeIn,
    endIn,
    endElsewhere,
    /** Number of the user's keys in this tenant that are not revoked. */
    countIn: async (tx: Tx, tenant: TenantId, owner: Owner): Promise<number> =>
      (await keysIn(tx, tenant, owner)).working.length,

    /** Revokes all keys and tokens of the user. Returns the UUIDs that were revoked, or would be in a dry run. */
    endAll: async (
      actor: Actor,
      userId: string,
      { reason, dryRun }: { reason: string | undefined; dryRun: boolean },
    ): Promise<Ids> => {
      const { tenantId: tenant } = actor
      const owner = { tenantId: tenant, userId }
      const judge = async (tx: Tx) => {
        const roles = (await findRolesOf(tx, tenant, userId)) ?? missing('user')
        const beyond = roles.find((role) => isRole(role) && !mayHandle(actor, role))
        if (beyond) fail('forbidden', `this user has the role ${beyond}, which has permissions that you do not have`)
      }
      if (dryRun)
        return db.inTenant(tenant, async (tx) => {
          await judge(tx)
          const { working, makers } = await keysIn(tx, tenant, owner)
          return { keys: working, tokens: await tokensOfMakers().find(tx, tenant, makers) }
        })
      await db.inTenant(tenant, judge)
      const elsewhere = await endElsewhere(actor, owner, reason, 'keys and tokens')
      return db.inTenant(tenant, async (tx) => {
        await judge(tx)
        const { keys, tokens } = await endIn(tx, actor, owner, reason)
        if (keys.length + tokens.length > 0) await changes.record(tx, tenant, [...keys, ...tokens])
        return {
          keys: [...elsewhere.keys, ...keys.map((change) => change.subject)],
          tokens: [...elsewhere.tokens, ...tokens.map((change) => change.subject)],
        }
      })
    },
  }
}
export type KeysOfUser = ReturnType<typeof createKeysOfUser>
