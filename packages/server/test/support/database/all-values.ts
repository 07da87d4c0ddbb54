import type pg from 'pg'

export type Column = { relation: string; column: string }
export type Cell = Column & { bytes: Buffer }

/** Every value of every column of every table, as bytes: bytea as it is, all else as its text. */
export async function readEverything(client: pg.Client): Promise<Cell[]> {
  const columns = await client.query<Column & { type: string }>(
    `select c.oid::regclass::text as relation, quote_ident(a.attname) as column, format_type(a.atttypid, null) as type
     from pg_class c join pg_attribute a on a.attrelid = c.oid join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
       and a.attnum > 0 and not a.attisdropped`,
  )
  const cells: Cell[] = []
  for (const { relation, column, type } of columns.rows) {
    const value = type === 'bytea' ? column : `convert_to(${column}::text, 'UTF8')`
    const { rows } = await client.query<{ bytes: Buffer }>(
      `select ${value} as bytes from ${relation} where ${column} is not null`,
    )
    cells.push(...rows.map(({ bytes }) => ({ relation, column, bytes })))
  }
  return cells
}
