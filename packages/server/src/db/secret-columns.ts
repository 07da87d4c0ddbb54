import { type RawBuilder, sql } from 'kysely'
import type { TenantId } from '../kernel/actor.ts'
import type { Tx } from './transaction.ts'

/**
 * A column with values made by a master key: encrypted values (`…_jwe`), or digests with their key version in the
 * column of the same name with `_version`. The columns of all tables are found by these names.
 */
export type SecretColumn = {
  kind: 'sealed' | 'digest'
  table: string
  column: string
  isOfTenants: boolean
  /** The columns of the table's primary key. */
  key: readonly { name: string; type: string }[]
}

export async function secretColumns(tx: Tx): Promise<SecretColumn[]> {
  const { rows } = await sql<{ table: string; found: string; is_of_tenants: boolean; key: SecretColumn['key'] }>`
    select c.relname as "table", a.attname as found,
      exists (select from pg_attribute t where t.attrelid = c.oid and t.attname = 'tenant_id' and not t.attisdropped)
        as is_of_tenants,
      (select json_agg(json_build_object('name', k.attname, 'type', format_type(k.atttypid, null)) order by p.place)
        from pg_index i cross join unnest(i.indkey::int[]) with ordinality as p(number, place)
        join pg_attribute k on k.attrelid = i.indrelid and k.attnum = p.number
        where i.indrelid = c.oid and i.indisprimary) as key
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and a.attnum > 0 and not a.attisdropped and a.attname ~ '(_jwe|_digest_version)$'
    order by 1, 2`.execute(tx)
  return rows.map(({ table, found, is_of_tenants: isOfTenants, key }) => ({
    kind: found.endsWith('_jwe') ? 'sealed' : 'digest',
    table,
    column: found.replace(/_version$/, ''),
    isOfTenants,
    key,
  }))
}

/** SQL that identifies the key of a value: the beginning of an encrypted one, or the version of a digest. */
const markOf = ({ kind, column }: SecretColumn, length: number): RawBuilder<string> =>
  kind === 'sealed' ? sql`left(${sql.ref(column)}, ${length})` : sql`${sql.ref(`${column}_version`)}::text`

export type Counted = { tenant: TenantId | null; mark: string; amount: number }
/**
 * Counts the values of each tenant under each key. `length` is that of the identifying beginning of an encrypted value.
 */
export async function countByKey(tx: Tx, of: SecretColumn, length: number): Promise<Counted[]> {
  const tenant = of.isOfTenants ? sql`tenant_id` : sql`null::uuid`
  const { rows } = await sql<Counted>`
    select ${tenant} as tenant, ${markOf(of, length)} as mark, count(*) as amount
    from ${sql.table(of.table)} where ${sql.ref(of.column)} is not null group by 1, 2`.execute(tx)
  return rows
}

/** A value made by an old key, with its row. */
export type SecretValue = { at: string; was: string; mark: string; place: string[] }

/** Returns the next values after a position with this mark, in the order of the primary key. */
export async function valuesUnder(
  tx: Tx,
  of: SecretColumn,
  { tenant, mark, after, limit }: { tenant: TenantId | null; mark: string; after: readonly string[]; limit: number },
): Promise<SecretValue[]> {
  const key = of.key.map(({ name }) => sql.ref(name))
  const place = of.key.map(({ type }, i) => sql`${after[i]}::${sql.raw(type)}`)
  const isLater = after.length > 0 ? sql`(${sql.join(key)}) > (${sql.join(place)})` : sql`true`
  const { rows } = await sql<SecretValue>`
    select ctid::text as at, ${sql.ref(of.column)}::text as was, ${markOf(of, mark.length)} as mark,
      array[${sql.join(key.map((k) => sql`${k}::text`))}] as place
    from ${sql.table(of.table)}
    where ${ofTenant(of, tenant)} and ${markOf(of, mark.length)} = ${mark} and ${isLater}
    order by ${sql.join(key)} limit ${limit}`.execute(tx)
  return rows
}

/** Replaces values that have not changed since they were read. Returns their number. */
export async function replaceValues(
  tx: Tx,
  of: SecretColumn,
  {
    tenant,
    version,
    values,
  }: {
    tenant: TenantId | null
    version: number
    values: readonly (Pick<SecretValue, 'at' | 'was'> & { fresh: string })[]
  },
): Promise<number> {
  const type = sql.raw(of.kind === 'sealed' ? 'text' : 'bytea')
  const given = (take: (v: (typeof values)[number]) => string) => sql`${values.map(take)}`
  const order = of.key.map(({ name }) => sql.ref(`t.${name}`))
  const [table, column] = [sql.table(of.table), sql.ref(of.column)]
  const marked = of.kind === 'digest' ? sql`, ${sql.ref(`${of.column}_version`)} = ${version}` : sql``
  const { numAffectedRows } = await sql`
    with mine as (
      select t.ctid as at, v.fresh
      from unnest(${given((v) => v.at)}::tid[], ${given((v) => v.was)}::${type}[], ${given((v) => v.fresh)}::${type}[])
        as v(at, was, fresh) join ${table} as t on t.ctid = v.at and t.${column} = v.was
      where ${ofTenant(of, tenant, 't.')} order by ${sql.join(order)} for update of t)
    update ${table} as t set ${column} = mine.fresh ${marked}
    from mine where ${ofTenant(of, tenant, 't.')} and t.ctid = mine.at`.execute(tx)
  return Number(numAffectedRows ?? 0)
}

const ofTenant = ({ isOfTenants }: SecretColumn, tenant: TenantId | null, alias = ''): RawBuilder<unknown> =>
  isOfTenants ? sql`${sql.raw(alias)}tenant_id = ${tenant}` : sql`true`
