import { sql } from 'kysely'
import { keyedLocks } from '../../../db/advisory-locks.ts'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import { purgeTime } from '../../../db/kept.ts'
import { deleting } from '../../../db/retention.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** Selects drafts without their texts, each with the version that it is based on. */
export const selectDrafts = (tx: Tx, tenant: TenantId, author?: string | null) => {
  const q = tx
    .selectFrom('policy_drafts as d')
    .leftJoin('policy_bundles as b', (join) =>
      join.on('b.tenant_id', '=', tenant).onRef('b.version', '=', 'd.base_version'),
    )
    .select(['d.tenant_id', 'd.draft_id', 'd.name', 'd.size', 'd.digest', 'd.base_version'])
    .select(['d.created_by', 'd.created_at', 'd.updated_by', 'd.updated_at'])
    .select(['b.bundle_id as base_bundle_id', 'b.channel as base_channel', 'b.digest as base_digest'])
    .where('d.tenant_id', '=', tenant)
    .where('d.deleted_at', 'is', null)
  return author === undefined ? q : q.where('d.created_by', '=', author)
}
export const findDraft = (tx: Tx, tenant: TenantId, id: string) =>
  selectDrafts(tx, tenant).select('d.text').where('d.draft_id', '=', id).executeTakeFirst()
export type DraftWithText = NonNullable<Awaited<ReturnType<typeof findDraft>>>
export type DraftRow = Omit<DraftWithText, 'text'>

/** Serializes the creation of drafts in this tenant until commit, so that the count is exact. */
export const lockNewDrafts = (tx: Tx, tenant: TenantId) =>
  sql`select pg_advisory_xact_lock(${sql.lit(keyedLocks.newPolicyDrafts)}, hashtext(${tenant}::text))`.execute(tx)

export const countDrafts = async (tx: Tx, tenant: TenantId, author: string | null) => {
  const { rows } = await sql<{ own: number; all: number }>`
    select count(*) filter (where created_by = ${author}) as own, count(*) as all
    from policy_drafts where tenant_id = ${tenant} and deleted_at is null`.execute(tx)
  return rows[0] ?? { own: 0, all: 0 }
}

/** Locks a draft until commit, then reads it. */
export const lockDraft = async (tx: Tx, tenant: TenantId, id: string): Promise<DraftWithText | undefined> => {
  await tx
    .selectFrom('policy_drafts')
    .select('draft_id')
    .where('tenant_id', '=', tenant)
    .where('draft_id', '=', id)
    .forNoKeyUpdate()
    .execute()
  return findDraft(tx, tenant, id)
}

/** Returns a published version, and keeps it from being purged until commit. */
export const holdBase = (tx: Tx, tenant: TenantId, bundleId: string) =>
  tx
    .selectFrom('policy_bundles')
    .select(['bundle_id', 'version', 'channel', 'digest'])
    .where('tenant_id', '=', tenant)
    .where('bundle_id', '=', bundleId)
    .orderBy('version')
    .forKeyShare()
    .executeTakeFirst()

export const wasDraftDeleted = async (tx: Tx, tenant: TenantId, id: string): Promise<boolean> =>
  (await tx
    .selectFrom('policy_drafts')
    .select('draft_id')
    .where('tenant_id', '=', tenant)
    .where('draft_id', '=', id)
    .where('deleted_at', 'is not', null)
    .executeTakeFirst()) !== undefined

/** `baseVersion`: number of the published version from which the draft started. */
export type StoredDraft = { name: string; text: string; size: number; digest: string; baseVersion: number | null }
type Save = { by: string | null; at: Date }

export const insertDraft = (
  tx: Tx,
  tenant: TenantId,
  id: string,
  { name, text, size, digest, baseVersion }: StoredDraft,
  { by, at }: Save,
) =>
  tx
    .insertInto('policy_drafts')
    .values({
      name,
      text,
      size,
      digest,
      tenant_id: tenant,
      draft_id: id,
      base_version: baseVersion,
      created_by: by,
      created_at: at,
      updated_by: by,
      updated_at: at,
    })
    .execute()

export const saveDraft = (
  tx: Tx,
  tenant: TenantId,
  id: string,
  { name, text, size, digest, baseVersion }: StoredDraft,
  { by, at }: Save,
) =>
  tx
    .updateTable('policy_drafts')
    .set({ name, text, size, digest, base_version: baseVersion, updated_by: by, updated_at: at })
    .where('tenant_id', '=', tenant)
    .where('draft_id', '=', id)
    .where('deleted_at', 'is', null)
    .execute()

/** True for the one call that deleted the draft. */
export const removeDraft = (tx: Tx, tenant: TenantId, id: string, { by, at }: Save): Promise<boolean> =>
  affectedRow(
    tx
      .updateTable('policy_drafts')
      .set({ deleted_at: at, updated_by: by, updated_at: at })
      .where('tenant_id', '=', tenant)
      .where('draft_id', '=', id)
      .where('deleted_at', 'is', null)
      .returning('draft_id'),
  )

export const pruneDrafts = deleting('policy_drafts', sql`deleted_at < ${purgeTime} - interval '1 day'`)
