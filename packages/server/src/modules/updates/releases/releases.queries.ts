import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export type ReleaseRow = Selectable<Tables['releases']>
export type ReleaseFields = Pick<ReleaseRow, 'notes' | 'notes_url' | 'severity' | 'mandatory' | 'min_from_version'>
export type ReleaseRollout = Pick<ReleaseRow, 'rollout_percent' | 'rollout_group_ids'>

export const selectReleases = (
  tx: Tx,
  tenant: TenantId,
  { channel, status }: { channel?: ReleaseRow['channel']; status?: ReleaseRow['status'] } = {},
) => {
  let q = tx
    .selectFrom('releases')
    .selectAll('releases')
    .select((eb) =>
      eb
        .selectFrom('release_packages as p')
        .select((each) => each.fn.countAll<number>().as('packages'))
        .where('p.tenant_id', '=', tenant)
        .whereRef('p.release_id', '=', 'releases.release_id')
        .$asScalar()
        .as('packages'),
    )
    .where('releases.tenant_id', '=', tenant)
  if (channel !== undefined) q = q.where('channel', '=', channel)
  if (status !== undefined) q = q.where('status', '=', status)
  return q
}
export type Release = ReleaseRow & { packages: number | null }

export const findRelease = (tx: Tx, tenant: TenantId, releaseId: string): Promise<Release | undefined> =>
  selectReleases(tx, tenant).where('release_id', '=', releaseId).executeTakeFirst()

/** Locks a release until commit. */
export const lockRelease = (tx: Tx, tenant: TenantId, releaseId: string): Promise<ReleaseRow | undefined> =>
  tx
    .selectFrom('releases')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('release_id', '=', releaseId)
    .forNoKeyUpdate()
    .executeTakeFirst()

/** Counts published and paused releases. */
export const countLive = async (tx: Tx, tenant: TenantId): Promise<number> => {
  const { live } = await tx
    .selectFrom('releases')
    .select((eb) => eb.fn.countAll<number>().as('live'))
    .where('tenant_id', '=', tenant)
    .where('status', 'in', ['published', 'paused'])
    .executeTakeFirstOrThrow()
  return live
}

export const countPackages = async (tx: Tx, tenant: TenantId, releaseId: string): Promise<number> => {
  const { packages } = await tx
    .selectFrom('release_packages')
    .select((eb) => eb.fn.countAll<number>().as('packages'))
    .where('tenant_id', '=', tenant)
    .where('release_id', '=', releaseId)
    .executeTakeFirstOrThrow()
  return packages
}

export const insertRelease = (
  tx: Tx,
  tenant: TenantId,
  release: ReleaseFields & Pick<ReleaseRow, 'release_id' | 'version' | 'channel'>,
  at: Date,
): Promise<ReleaseRow> =>
  tx
    .insertInto('releases')
    .values({
      ...release,
      tenant_id: tenant,
      status: 'draft',
      rollout_percent: 100,
      rollout_group_ids: [],
      reason: null,
      created_at: at,
      updated_at: at,
      published_at: null,
      promoted_at: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow()

export const updateDraft = (
  tx: Tx,
  tenant: TenantId,
  releaseId: string,
  fields: ReleaseFields,
  at: Date,
): Promise<ReleaseRow | undefined> =>
  tx
    .updateTable('releases')
    .set({ ...fields, updated_at: at })
    .where('tenant_id', '=', tenant)
    .where('release_id', '=', releaseId)
    .where('status', '=', 'draft')
    .returningAll()
    .executeTakeFirst()

export async function deleteDraft(tx: Tx, tenant: TenantId, releaseId: string): Promise<void> {
  const ofRelease = { tenant_id: tenant, release_id: releaseId }
  for (const table of ['release_packages', 'releases'] as const)
    await tx
      .deleteFrom(table)
      .where('tenant_id', '=', ofRelease.tenant_id)
      .where('release_id', '=', ofRelease.release_id)
      .execute()
}

type Move = Partial<
  Pick<ReleaseRow, 'status' | 'channel' | 'reason' | 'published_at' | 'promoted_at' | keyof ReleaseRollout>
>
/** Moves a release from one of these states. Undefined if it is in none of them. */
export const moveRelease = (
  tx: Tx,
  tenant: TenantId,
  releaseId: string,
  from: readonly ReleaseRow['status'][],
  to: Move,
  at: Date,
): Promise<ReleaseRow | undefined> =>
  tx
    .updateTable('releases')
    .set({ ...to, updated_at: at })
    .where('tenant_id', '=', tenant)
    .where('release_id', '=', releaseId)
    .where('status', '=', sql<ReleaseRow['status']>`any(${from}::text[])`)
    .returningAll()
    .executeTakeFirst()
