import { type Selectable, sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

type PackageRow = Selectable<Tables['release_packages']>
type Blob = Pick<Selectable<Tables['package_blobs']>, 'blob_id' | 'sha256' | 'size'>
export type PackageSlot = Pick<PackageRow, 'release_id' | 'platform' | 'arch' | 'filename'>

/** Selects packages with the version of their release, and size and digest of their content. */
export const selectPackages = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('release_packages as p')
    .innerJoin('releases as r', (j) =>
      j.onRef('r.tenant_id', '=', 'p.tenant_id').onRef('r.release_id', '=', 'p.release_id'),
    )
    .innerJoin('package_blobs as b', (j) =>
      j.onRef('b.tenant_id', '=', 'p.tenant_id').onRef('b.blob_id', '=', 'p.blob_id'),
    )
    .selectAll('p')
    .select(['r.version', 'b.sha256', 'b.size'])
    .where('p.tenant_id', '=', tenant)
    .where('r.tenant_id', '=', tenant)
    .where('b.tenant_id', '=', tenant)
export type Package = PackageRow & { version: string; sha256: string; size: number }

export const packageInSlot = (tx: Tx, tenant: TenantId, slot: PackageSlot): Promise<Package | undefined> =>
  selectPackages(tx, tenant)
    .where('p.release_id', '=', slot.release_id)
    .where('p.platform', '=', slot.platform)
    .where('p.arch', '=', slot.arch)
    .where('p.filename', '=', slot.filename)
    .executeTakeFirst()

export const findPackage = (tx: Tx, tenant: TenantId, packageId: string): Promise<Package | undefined> =>
  selectPackages(tx, tenant).where('p.package_id', '=', packageId).executeTakeFirst()

export const insertPackage = (
  tx: Tx,
  tenant: TenantId,
  row: PackageSlot & Pick<PackageRow, 'package_id' | 'blob_id'>,
  at: Date,
): Promise<PackageRow> =>
  tx
    .insertInto('release_packages')
    .values({ ...row, tenant_id: tenant, created_at: at })
    .returningAll()
    .executeTakeFirstOrThrow()

export const deletePackage = (tx: Tx, tenant: TenantId, releaseId: string, packageId: string): Promise<boolean> =>
  affectedRow(
    tx
      .deleteFrom('release_packages')
      .where('tenant_id', '=', tenant)
      .where('release_id', '=', releaseId)
      .where('package_id', '=', packageId)
      .returning('package_id'),
  )

/** Locks a stored content against removal until commit. */
export const shareStored = (tx: Tx, tenant: TenantId, sha256: string): Promise<Blob | undefined> =>
  tx
    .selectFrom('package_blobs')
    .select(['blob_id', 'sha256', 'size'])
    .where('tenant_id', '=', tenant)
    .where('sha256', '=', sha256)
    .where('state', '=', 'stored')
    .orderBy('blob_id')
    .forKeyShare()
    .executeTakeFirst()

/** Returns the bytes of all contents that are stored or about to be. */
export const storedBytes = async (tx: Tx, tenant: TenantId): Promise<number> => {
  const { bytes } = await tx
    .selectFrom('package_blobs')
    .select(sql<number>`coalesce(sum(size), 0)::bigint`.as('bytes'))
    .where('tenant_id', '=', tenant)
    .where('state', 'in', ['storing', 'stored'])
    .executeTakeFirstOrThrow()
  return bytes
}

/** Inserted before the content is brought to the store, so that every content in the store has a row. */
export const insertBlob = (tx: Tx, tenant: TenantId, blob: Blob, at: Date) =>
  tx
    .insertInto('package_blobs')
    .values({ ...blob, tenant_id: tenant, state: 'storing', since: at })
    .execute()

export const moveBlob = (
  tx: Tx,
  tenant: TenantId,
  blobId: string,
  { from, to }: { from: 'storing' | 'stored'; to: 'stored' | 'removing' },
  at: Date,
): Promise<boolean> =>
  affectedRow(
    tx
      .updateTable('package_blobs')
      .set({ state: to, since: at })
      .where('tenant_id', '=', tenant)
      .where('blob_id', '=', blobId)
      .where('state', '=', from)
      .returning('blob_id'),
  )

const isUnused = (tenant: TenantId, before: Date) => sql`b.tenant_id = ${tenant} and b.state in ('storing', 'stored')
  and b.since < ${before}
  and not exists (select from release_packages p where p.tenant_id = ${tenant} and p.blob_id = b.blob_id)`

/**
 * Marks contents for removal: those that no release refers to, and uploads that never completed, once they are older
 * than `before`.
 */
export async function markContentsUnused(
  tx: Tx,
  tenant: TenantId,
  before: Date,
  at: Date,
  limit: number,
): Promise<void> {
  const { rows } = await sql<{ blob_id: string }>`select b.blob_id from package_blobs b
    where ${isUnused(tenant, before)} order by b.blob_id limit ${limit} for update skip locked`.execute(tx)
  // Checked again under the lock: a package may have referred to it in the meantime.
  await sql`update package_blobs set state = 'removing', since = ${at}
    where tenant_id = ${tenant} and blob_id = any(array(select b.blob_id from package_blobs b
      where ${isUnused(tenant, before)} and b.blob_id = any(${rows.map((r) => r.blob_id)}::uuid[])
      order by b.blob_id for update))`.execute(tx)
}

export const selectRemoving = (tx: Tx, tenant: TenantId, before: Date, limit: number) =>
  tx
    .selectFrom('package_blobs')
    .select('blob_id')
    .where('tenant_id', '=', tenant)
    .where('state', '=', 'removing')
    .where('since', '<=', before)
    .limit(limit)
    .execute()

export const selectBlobs = (tx: Tx, tenant: TenantId, after: string, limit: number) =>
  tx
    .selectFrom('package_blobs')
    .select('blob_id')
    .where('tenant_id', '=', tenant)
    .where('blob_id', '>', after)
    .orderBy('blob_id')
    .limit(limit)
    .execute()

export const deleteBlobs = (tx: Tx, tenant: TenantId, blobIds: readonly string[]) =>
  tx
    .deleteFrom('package_blobs')
    .where('tenant_id', '=', tenant)
    .where('blob_id', '=', sql<string>`any(${blobIds}::uuid[])`)
    .where('state', '=', 'removing')
    .execute()
