import { type Selectable, sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import { purgeTime } from '../../../db/kept.ts'
import { deleting } from '../../../db/retention.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export type MetadataRow = Selectable<Tables['tuf_metadata']>
export type Role = MetadataRow['role']

/** Returns the newest version of each role. */
export const newestMetadata = (tx: Tx, tenant: TenantId): Promise<MetadataRow[]> =>
  tx
    .selectFrom('tuf_metadata')
    .selectAll()
    .distinctOn('role')
    .where('tenant_id', '=', tenant)
    .orderBy('role')
    .orderBy('version', 'desc')
    .execute()

export const findMetadata = (tx: Tx, tenant: TenantId, role: Role, version: number): Promise<MetadataRow | undefined> =>
  tx
    .selectFrom('tuf_metadata')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('role', '=', role)
    .where('version', '=', version)
    .executeTakeFirst()

/** False if another replica has already issued this version. */
export const insertMetadata = (tx: Tx, tenant: TenantId, row: Omit<MetadataRow, 'tenant_id'>): Promise<boolean> =>
  affectedRow(
    tx
      .insertInto('tuf_metadata')
      .values({ ...row, tenant_id: tenant })
      .onConflict((c) => c.columns(['tenant_id', 'role', 'version']).doNothing())
      .returning('version'),
  )

/**
 * All roots are kept, so that a client that was offline for years can follow them to the newest. The newest version of
 * each role is kept too.
 */
export const pruneMetadata = deleting(
  'tuf_metadata',
  sql`role <> 'root' and expires_at < ${purgeTime} and version < (select max(newest.version) from tuf_metadata newest
    where newest.tenant_id = tuf_metadata.tenant_id and newest.role = tuf_metadata.role)`,
)

export const hasMetadata = (tx: Tx, tenant: TenantId): Promise<boolean> =>
  affectedRow(tx.selectFrom('tuf_metadata').select('version').where('tenant_id', '=', tenant).limit(1))
