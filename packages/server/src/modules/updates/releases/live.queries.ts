import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** Returns releases that are offered, and paused ones. */
export const liveReleases = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('releases')
    .select(['release_id', 'version', 'channel', 'status', 'severity', 'mandatory', 'min_from_version'])
    .select(['notes_url', 'rollout_percent', 'rollout_group_ids', 'published_at', 'promoted_at'])
    .where('tenant_id', '=', tenant)
    .where('status', 'in', ['published', 'paused'])
    .execute()

export const packagesOf = (tx: Tx, tenant: TenantId, releaseIds: readonly string[]) =>
  tx
    .selectFrom('release_packages as p')
    .innerJoin('package_blobs as b', (j) =>
      j.onRef('b.tenant_id', '=', 'p.tenant_id').onRef('b.blob_id', '=', 'p.blob_id'),
    )
    .select(['p.package_id', 'p.release_id', 'p.platform', 'p.arch', 'p.filename', 'p.blob_id', 'b.sha256', 'b.size'])
    .where('p.tenant_id', '=', tenant)
    .where('b.tenant_id', '=', tenant)
    .where('p.release_id', '=', sql<string>`any(${releaseIds}::uuid[])`)
    .orderBy('p.package_id')
    .execute()
