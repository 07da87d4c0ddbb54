import type { Connection } from '../db/connection.ts'
import { type Reference, referencesBetween, referringFirst } from '../db/table-order.ts'

/** Tables that are not in a backup: a restore creates them anew, or they concern only running processes. */
const leftOut: readonly string[] = ['schema_migrations', 'replicas', 'listening', 'changes']

type Table = { name: string; columns: string[] }

/** Lists all tables of a database. A partitioned table counts as one. */
export const tableNames = async (connection: Connection): Promise<string[]> => {
  const rows = await connection.ask<{ name: string }>(
    `select c.relname as name from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1`,
  )
  return rows.map((row) => row.name)
}

/** Returns the tables to back up with their stored (not computed) columns, referenced tables first. */
export async function tablesToKeep(connection: Connection): Promise<Table[]> {
  const rows = await connection.ask<Table>(
    `select c.relname as name, array_agg(a.attname::text order by a.attname) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' group by 1 order by 1`,
  )
  const kept = new Map(rows.filter((t) => !leftOut.includes(t.name)).map((t) => [t.name, t]))
  const references = await connection.ask<Reference>(referencesBetween)
  return referringFirst([...kept.keys()], references)
    .reverse()
    .map((name) => kept.get(name)!)
}

/** Returns the months that have partitions, as their first days. */
export const monthsOf = async (connection: Connection): Promise<string[]> => {
  const rows = await connection.ask<{ month: string }>(
    `select distinct replace(right(c.relname, 7), '_', '-') || '-01' as month from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relispartition and c.relname ~ '_[0-9]{4}_[0-9]{2}$' order by 1`,
  )
  return rows.map((row) => row.month)
}

/** Returns the current values of the sequences. */
export const countersOf = (connection: Connection): Promise<{ name: string; value: string }[]> =>
  connection.ask(
    `select sequencename::text as name, last_value::text as value from pg_sequences
     where schemaname = 'public' and last_value is not null order by 1`,
  )

export const migrationsOf = (connection: Connection): Promise<{ version: number; sha256: string }[]> =>
  connection.ask('select version, sha256 from schema_migrations order by version')

/**
 * Session settings that fix the text format of values, independent of the server's own settings. With row security off,
 * no row is skipped silently.
 */
export const sessionSettings = `set statement_timeout = 0; set lock_timeout = '30s';
  set idle_in_transaction_session_timeout = 0; set row_security = off; set client_encoding = 'UTF8'; set timezone = 'UTC';
  set datestyle = 'ISO, MDY'; set intervalstyle = 'postgres'; set bytea_output = 'hex'; set extra_float_digits = 1`

export const quoted = (connection: Connection, names: readonly string[]): string =>
  names.map((name) => connection.escapeIdentifier(name)).join(', ')
