import { type Insertable, type Selectable, sql } from 'kysely'
import { databaseLocks, keyedLocks } from '../../db/advisory-locks.ts'
import type { Tx } from '../../db/database.ts'
import type { Tables } from '../../db/tables/index.ts'

export type MasterKeyRow = Selectable<Tables['master_keys']>

/** Serializes changes of the master keys until commit. */
export const holdMasterKeys = (tx: Tx) =>
  sql`select pg_advisory_xact_lock(${sql.lit(databaseLocks.masterKeys)})`.execute(tx)

export const selectMasterKeys = (tx: Tx): Promise<MasterKeyRow[]> =>
  tx.selectFrom('master_keys').selectAll().orderBy('version').execute()

export const insertMasterKey = (tx: Tx, row: Insertable<Tables['master_keys']>) =>
  tx.insertInto('master_keys').values(row).returningAll().executeTakeFirstOrThrow()

const ofVersion = (tx: Tx, version: number) => tx.updateTable('master_keys').where('version', '=', version)

export const setPepper = (tx: Tx, version: number, pepper_jwe: string) =>
  ofVersion(tx, version).set({ pepper_jwe }).where('pepper_jwe', 'is', null).execute()

export const markWriting = (tx: Tx, version: number) =>
  ofVersion(tx, version).set({ written_at: sql<Date>`clock_timestamp()` }).execute()

type Counts = { sealed: number; digests: number; counted_at: Date; unused_since?: null }
export const setKeyCounts = (tx: Tx, version: number, counts: Counts) => ofVersion(tx, version).set(counts).execute()

export const markKeyUnused = (tx: Tx, version: number, at: Date) =>
  ofVersion(tx, version).set({ unused_since: at }).where('unused_since', 'is', null).execute()

/**
 * Advisory locks that a replica shares while its change feed is connected. Each shows that the replica reads or writes
 * with a key version.
 */
export const presence = { reads: keyedLocks.keyReaders, writes: keyedLocks.keyWriters } as const

/** Key versions that a running replica reads with, and those that it writes with. */
export type Replica = { reads: number[]; writes: number[] }

export async function runningReplicas(tx: Tx): Promise<Replica[]> {
  const { rows } = await sql<Replica>`
    select coalesce(array_agg(objid::int) filter (where classid = ${presence.reads}), '{}') as reads,
      coalesce(array_agg(objid::int) filter (where classid = ${presence.writes}), '{}') as writes
    from pg_catalog.pg_locks
    where locktype = 'advisory' and objsubid = 2 and granted and classid in (${presence.reads}, ${presence.writes})
      and database = (select oid from pg_catalog.pg_database where datname = current_database())
    group by pid`.execute(tx)
  return rows
}
