import type pg from 'pg'

/**
 * The schema as text in a stable order: tables, columns, constraints, indexes, policies and the application's
 * privileges.
 */
export async function describeSchema(client: pg.Client): Promise<string> {
  const lines = async (query: string) => (await client.query<{ line: string }>(query)).rows.map((r) => r.line)
  const inPublic = `n.nspname = 'public' and not c.relispartition`
  const sections = {
    columns: `select c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) ||
        case when a.attnotnull then ' not null' else '' end || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') as line
      from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
      left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
      where ${inPublic} and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped order by c.relname, a.attnum`,
    constraints: `select c.relname || ' ' || x.conname || ': ' || pg_get_constraintdef(x.oid) as line
      from pg_constraint x join pg_class c on c.oid = x.conrelid join pg_namespace n on n.oid = c.relnamespace
      where ${inPublic} and x.contype <> 'n' order by c.relname, x.conname`,
    indexes: `select pg_get_indexdef(i.indexrelid) as line from pg_index i join pg_class c on c.oid = i.indrelid
      join pg_namespace n on n.oid = c.relnamespace where ${inPublic} order by 1`,
    'row-level security': `select c.relname || ' ' || p.polname || ' using ' || pg_get_expr(p.polqual, p.polrelid) as line
      from pg_policy p join pg_class c on c.oid = p.polrelid join pg_namespace n on n.oid = c.relnamespace
      where ${inPublic} and c.relrowsecurity order by c.relname`,
    'rights of holdfast_app': `select table_name || ': ' || string_agg(privilege_type, ', ' order by privilege_type) as line
      from information_schema.role_table_grants g join pg_class c on c.relname = g.table_name and c.relnamespace = 'public'::regnamespace
      where grantee = 'holdfast_app' and table_schema = 'public' and not c.relispartition group by table_name order by table_name`,
    routines: `select p.proname || '(' || pg_get_function_arguments(p.oid) || ')' || case when p.prosecdef then ' security definer' else '' end as line
      from pg_proc p where p.pronamespace = 'public'::regnamespace
      order by p.proname, pg_get_function_arguments(p.oid) collate "C"`,
  }
  const out: string[] = []
  for (const [title, query] of Object.entries(sections)) out.push(`# ${title}`, ...(await lines(query)), '')
  return out.join('\n')
}
