import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { purgeTime } from '../../db/kept.ts'
import { deleting, purging } from '../../db/retention.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

type Channel = Selectable<Tables['policy_channels']>['channel']

/** Returns the newest version published to each channel, with its content. */
export const inForce = async (tx: Tx, tenant: TenantId) => {
  const rows = await tx
    .selectFrom('policy_channels as c')
    .innerJoin('policy_bundles as b', (join) =>
      join.onRef('b.version', '=', 'c.version').on('b.tenant_id', '=', tenant),
    )
    .select(['c.channel', 'c.version', 'b.digest'])
    .where('c.tenant_id', '=', tenant)
    .execute()
  return new Map(rows.map(({ channel, ...version }) => [channel, version]))
}

export type InForce = Awaited<ReturnType<typeof inForce>>

/** Returns the canary that is under way. It ends with the next version on stable. */
export const canaryUnderWay = (found: InForce) => {
  const canary = found.get('canary')
  return canary && canary.version > (found.get('stable')?.version ?? 0) ? canary : undefined
}

/** Returns the resolved documents of all channels, as of this statement. */
export const resolutionsInForce = async (tx: Tx, tenant: TenantId) => {
  const rows = await tx
    .selectFrom('policy_channels as c')
    .innerJoin('policy_bundles as b', (join) =>
      join.onRef('b.version', '=', 'c.version').on('b.tenant_id', '=', tenant),
    )
    .select('b.resolution')
    .where('c.tenant_id', '=', tenant)
    .execute()
  return rows.map((row) => row.resolution)
}

export const bundleByVersion = (tx: Tx, tenant: TenantId, version: number) =>
  tx
    .selectFrom('policy_bundles')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('version', '=', version)
    .executeTakeFirst()

export const bundleById = (tx: Tx, tenant: TenantId, bundleId: string) =>
  tx
    .selectFrom('policy_bundles')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('bundle_id', '=', bundleId)
    .executeTakeFirst()

export const placeOfBundle = (tx: Tx, tenant: TenantId, bundleId: string) =>
  tx
    .selectFrom('policy_bundles')
    .select(['version', 'seq', 'channel', 'published_at'])
    .where('tenant_id', '=', tenant)
    .where('bundle_id', '=', bundleId)
    .executeTakeFirst()

export const findBundles = (tx: Tx, tenant: TenantId, ids: readonly string[]) =>
  tx
    .selectFrom('policy_bundles')
    .select(['bundle_id', 'version', 'channel', 'note', 'digest'])
    .where('tenant_id', '=', tenant)
    .where('bundle_id', '=', sql<string>`any(${ids}::uuid[])`)
    .execute()

/** Returns `resources` and `hosts` of the document on stable, or undefined if stable delivers nothing. */
export const currentDestinations = async (tx: Tx, tenant: TenantId) => {
  const { rows } = await sql<{
    resources: Record<string, { cidrs?: string[]; dns?: string[]; services?: string[] }> | null
    hosts: Record<string, string> | null
  }>`
    select b.document -> 'resources' as resources, b.document -> 'hosts' as hosts from policy_channels c
    join policy_bundles b on b.tenant_id = ${tenant} and b.version = c.version
    where c.tenant_id = ${tenant} and c.channel = 'stable'`.execute(tx)
  return rows[0]
}

/** Across tenants: versions that a channel delivers and that were published after a time. */
export const deliveredSince = async (tx: Tx, after: Date) =>
  tx
    .selectFrom('policy_channels as c')
    .innerJoin('policy_bundles as b', (j) =>
      j.onRef('b.tenant_id', '=', 'c.tenant_id').onRef('b.version', '=', 'c.version'),
    )
    .select(['b.tenant_id', 'b.bundle_id', 'b.published_at'])
    .where('b.published_at', '>', after)
    .execute()

/** Returns the version that each channel delivers, and the tenant's sequence number in the same snapshot. */
export const currentVersions = async (tx: Tx, tenant: TenantId) => {
  const { rows } = await sql<{ seq: number; canary: number | null; stable: number | null }>`
    select e.seq, canary.version as canary, stable.version as stable from tenant_epochs e
    left join policy_channels canary on canary.tenant_id = ${tenant} and canary.channel = 'canary'
    left join policy_channels stable on stable.tenant_id = ${tenant} and stable.channel = 'stable'
    where e.tenant_id = ${tenant}`.execute(tx)
  return rows[0] ?? { seq: 0, canary: null, stable: null }
}

/** Returns the newest version with this content. */
export const bundleByDigest = (tx: Tx, tenant: TenantId, digest: string) =>
  tx
    .selectFrom('policy_bundles')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('digest', '=', digest)
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst()

/** Selects published versions without their documents. */
export const selectBundles = (tx: Tx, tenant: TenantId, channel: Channel | undefined) => {
  const q = tx
    .selectFrom('policy_bundles')
    .select([
      'tenant_id',
      'bundle_id',
      'version',
      'seq',
      'channel',
      'digest',
      'previous_digest',
      'note',
      'published_by',
    ])
    .select(['published_at', 'rollout_percent', 'rollout_group_ids', 'rollout_device_ids', 'tests', 'impact'])
    .select(['gate_terms', 'gate_state', 'gate_looks', 'gate_health', 'gate_reason', 'gate_judged_at'])
    .where('tenant_id', '=', tenant)
  return channel ? q.where('channel', '=', channel) : q
}

export const bundlesOfVersions = (tx: Tx, tenant: TenantId, versions: readonly number[]) =>
  tx
    .selectFrom('policy_bundles')
    .select(['bundle_id', 'channel', 'version', 'seq', 'digest', 'published_at'])
    .where('tenant_id', '=', tenant)
    .where('version', '=', sql<number>`any(${versions}::bigint[])`)
    .orderBy('channel')
    .execute()

/** Returns the version that each channel delivered when the tenant was at a sequence number. */
export const channelsAt = async (tx: Tx, tenant: TenantId, seq: number) =>
  (
    await sql<{ channel: Channel; version: number }>`
      select distinct on (channel) channel, version from policy_bundles
      where tenant_id = ${tenant} and seq <= ${seq} order by channel, version desc`.execute(tx)
  ).rows

/**
 * Takes the next version of the tenant. It locks the tenant's epoch until commit, so that versions and sequence numbers
 * have the same order.
 */
export const takeVersion = async (tx: Tx, tenant: TenantId): Promise<number> =>
  (
    await tx
      .updateTable('tenant_epochs')
      .set({ policy_version: sql<number>`policy_version + 1` })
      .where('tenant_id', '=', tenant)
      .returning('policy_version')
      .executeTakeFirstOrThrow()
  ).policy_version

type Documents = 'document' | 'resolution' | 'tests' | 'impact'
type NewBundle = Omit<Selectable<Tables['policy_bundles']>, 'tenant_id' | Documents> & Record<Documents, object>
export const insertBundle = async (tx: Tx, tenant: TenantId, bundle: NewBundle) => {
  await tx
    .with('made', (db) =>
      db
        .insertInto('policy_bundles')
        .values({
          ...bundle,
          tenant_id: tenant,
          document: JSON.stringify(bundle.document),
          resolution: JSON.stringify(bundle.resolution),
          tests: JSON.stringify(bundle.tests),
          impact: JSON.stringify(bundle.impact),
          gate_terms: bundle.gate_terms && JSON.stringify(bundle.gate_terms),
          gate_health: null,
        })
        .returning('version'),
    )
    .insertInto('policy_channels')
    .values({ tenant_id: tenant, channel: bundle.channel, version: bundle.version })
    .onConflict((c) => c.columns(['tenant_id', 'channel']).doUpdateSet({ version: bundle.version }))
    .execute()
}

export const setImpact = (tx: Tx, tenant: TenantId, version: number, impact: object) =>
  tx
    .updateTable('policy_bundles')
    .set({ impact: JSON.stringify(impact) })
    .where('tenant_id', '=', tenant)
    .where('version', '=', version)
    .execute()

const unfinished = (tx: Tx, before: Date) =>
  tx
    .selectFrom('policy_bundles')
    .where(sql<boolean>`impact ->> 'status' = 'running'`)
    .where('published_at', '<', before)

/** Across tenants: tenants with a publish whose impact no process computes any more. */
export const tenantsWithUnfinishedImpacts = async (tx: Tx, before: Date): Promise<TenantId[]> =>
  (await unfinished(tx, before).select('tenant_id').distinct().limit(20).execute()).map((r) => r.tenant_id)

export const unfinishedImpacts = async (tx: Tx, tenant: TenantId, before: Date): Promise<number[]> =>
  (await unfinished(tx, before).select('version').where('tenant_id', '=', tenant).limit(20).execute()).map(
    (r) => r.version,
  )

type Signed = { digest: string; bundle: string; expires_at: Date }

/** Returns stored signed bytes by digest, if they do not expire too soon. */
export const findVariants = (
  tx: Tx,
  tenant: TenantId,
  digests: readonly string[],
  goodUntil: Date,
): Promise<Signed[]> =>
  tx
    .selectFrom('policy_variants')
    .select(['digest', 'bundle', 'expires_at'])
    .where('tenant_id', '=', tenant)
    .where(sql<boolean>`digest = any(${digests}::text[])`)
    .where('expires_at', '>', goodUntil)
    .execute()

export async function deleteVariants(tx: Tx, tenant: TenantId, digests: readonly string[]): Promise<void> {
  if (digests.length === 0) return
  await sql`
    with locked as (
      select digest from policy_variants
       where tenant_id = ${tenant} and digest = any(${digests}::text[]) order by digest for update)
    delete from policy_variants v using locked where v.tenant_id = ${tenant} and v.digest = locked.digest`.execute(tx)
}

/**
 * Stores signed bytes. The first signer wins; bytes that expire too soon are replaced. Returns the bytes stored now.
 */
export const putVariants = async (
  tx: Tx,
  tenant: TenantId,
  variants: readonly (Signed & { version: number })[],
  goodUntil: Date,
): Promise<Signed[]> => {
  const sorted = [...variants].sort((a, b) => (a.digest < b.digest ? -1 : 1))
  const put = await tx
    .insertInto('policy_variants')
    .values(sorted.map((variant) => ({ ...variant, tenant_id: tenant })))
    .onConflict((c) =>
      c
        .columns(['tenant_id', 'digest'])
        .doUpdateSet((eb) => ({
          version: eb.ref('excluded.version'),
          bundle: eb.ref('excluded.bundle'),
          expires_at: eb.ref('excluded.expires_at'),
        }))
        .where('policy_variants.expires_at', '<=', goodUntil),
    )
    .returning(['digest', 'bundle', 'expires_at'])
    .execute()
  const own = new Set(put.map((v) => v.digest))
  const others = sorted.flatMap(({ digest }) => (own.has(digest) ? [] : [digest]))
  return others.length > 0 ? [...put, ...(await findVariants(tx, tenant, others, goodUntil))] : put
}

export const pruneVariants = deleting('policy_variants', sql`expires_at < ${purgeTime} - interval '1 day'`)

/**
 * Keeps the newest 200, those being delivered, and those that drafts are based on. A gateway's delta reaches back for a
 * day.
 */
export const pruneBundles = purging(
  'policy',
  'policy_bundles',
  (before) => sql`published_at < ${before}
    and version <= (select max(newest.version) - 200 from policy_bundles newest
      where newest.tenant_id = policy_bundles.tenant_id)
    and not exists (select from policy_channels c
      where c.tenant_id = policy_bundles.tenant_id and c.version = policy_bundles.version)
    and not exists (select from policy_drafts d
      where d.tenant_id = policy_bundles.tenant_id and d.base_version = policy_bundles.version)`,
)

/** Counts the devices that report each of these digests as applied. */
export const appliedCounts = (tx: Tx, tenant: TenantId, digests: readonly string[]) =>
  tx
    .selectFrom('device_activity')
    .select('applied_digest')
    .select((eb) => eb.fn.countAll<number>().as('devices'))
    .where('tenant_id', '=', tenant)
    .where(sql<boolean>`applied_digest = any(${digests}::text[])`)
    .groupBy('applied_digest')
    .execute()

export const tenantSalt = async (tx: Tx, tenant: TenantId) =>
  (await tx.selectFrom('tenants').select('canary_salt').where('tenant_id', '=', tenant).executeTakeFirstOrThrow())
    .canary_salt

/** Across tenants: tenants in which a device has reported its posture. */
export const tenantsWithReports = async (tx: Tx): Promise<TenantId[]> =>
  (
    await sql<{ tenant_id: TenantId }>`
      select t.tenant_id from tenants t where exists (select from device_postures p where p.tenant_id = t.tenant_id)`.execute(
      tx,
    )
  ).rows.map((r) => r.tenant_id)
