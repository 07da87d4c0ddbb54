import { compilePolicy, type ResolvedPolicy } from '@holdfast/policy'
import type { Database, Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import { type Idle, type Memory, tenantCache } from '../../replication/tenant-cache.ts'
import * as queries from './policy.queries.ts'
import { TenantPolicy, type Version } from './tenant-policy.ts'
import { createVariantBudget, type VariantBudget } from './variants.ts'

const nothingPublished: Version = {
  version: 0,
  seq: 0,
  rollout: { percent: 0, groupIds: new Set(), deviceIds: new Set() },
  compiled: compilePolicy({
    document: { schema: 'holdfast.policy/1', rules: [] },
    users: {},
    groups: {},
    devices: {},
    pools: {},
  }),
}

/** Cache sizes: for the variants of all current policies, and for those of an earlier one during a comparison. */
const variantBytes = 128 * 1024 * 1024
const earlierBytes = 32 * 1024 * 1024

type Versions = { canary: number | null; stable: number | null }

/**
 * Policies in memory: the current one of each tenant, replaced when the tenant publishes, and compiled versions by
 * number.
 */
export function createPolicyStore({ db, changes, feed, idle }: { db: Database; idle: Idle } & Memory) {
  const budget = createVariantBudget(variantBytes)
  const compiled = new BoundedMap<string, Version>(64)
  const salts = new Map<TenantId, Buffer>()

  // After a restore of the database a version number may belong to another document.
  changes.listen('values', { changed: () => {}, forgotten: () => compiled.clear() })

  async function readVersion(tx: Tx, tenant: TenantId, version: number): Promise<Version> {
    const known = compiled.get(`${tenant}|${version}`)
    if (known) return known
    const row = await queries.bundleByVersion(tx, tenant, version)
    if (!row) throw new Error(`policy version ${version} does not exist`)
    const read: Version = {
      version,
      seq: row.seq,
      rollout: {
        percent: row.rollout_percent,
        groupIds: new Set(row.rollout_group_ids),
        deviceIds: new Set(row.rollout_device_ids),
      },
      compiled: compilePolicy(row.resolution as ResolvedPolicy),
    }
    compiled.set(`${tenant}|${version}`, read)
    return read
  }

  async function build(tx: Tx, tenant: TenantId, { seq, ...versions }: Versions & { seq: number }, own: VariantBudget) {
    const salt = salts.get(tenant) ?? (await queries.tenantSalt(tx, tenant))
    salts.set(tenant, salt)
    const canary = versions.canary === null ? undefined : await readVersion(tx, tenant, versions.canary)
    const stable = versions.stable === null ? nothingPublished : await readVersion(tx, tenant, versions.stable)
    return new TenantPolicy({ canary, stable, salt, seq }, own)
  }

  const load = (tenant: TenantId): Promise<TenantPolicy> =>
    db.inTenant(tenant, async (tx) => build(tx, tenant, await queries.currentVersions(tx, tenant), budget))

  const current = tenantCache<TenantPolicy>(
    { changes, feed },
    { kinds: ['policy'], load, onDrop: (policy) => policy.release(), idle },
  )

  return {
    /** The policy in force. A promise only while it is being read, or while the cache is not known to be fresh. */
    at: current.get,
    /** Returns an earlier pair of versions, for deltas. */
    atVersions: (tenant: TenantId, versions: Versions) =>
      db.inTenant(tenant, (tx) => build(tx, tenant, { ...versions, seq: 0 }, createVariantBudget(earlierBytes))),
    versionsAt: (tenant: TenantId, seq: number): Promise<Versions> =>
      db.inTenant(tenant, async (tx) => pair(await queries.channelsAt(tx, tenant, seq))),
    /** Stores a version that this replica has just compiled. */
    remember: (tenant: TenantId, version: Version) => compiled.set(`${tenant}|${version.version}`, version),
  }
}
export type PolicyStore = ReturnType<typeof createPolicyStore>

const pair = (rows: { channel: 'canary' | 'stable'; version: number }[]): Versions => ({
  canary: rows.find((r) => r.channel === 'canary')?.version ?? null,
  stable: rows.find((r) => r.channel === 'stable')?.version ?? null,
})
