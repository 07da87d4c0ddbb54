export type Reference = { from: string; to: string }

/** Sorts tables, referring tables first. */
export function referringFirst(tables: readonly string[], references: readonly Reference[]): string[] {
  const left = new Set(tables)
  const order: string[] = []
  while (left.size > 0) {
    const free = [...left].filter((name) => !references.some((r) => r.to === name && left.has(r.from)))
    if (free.length === 0) throw new Error(`the foreign keys of tables form a cycle: ${[...left].join(', ')}`)
    for (const name of free) left.delete(name)
    order.push(...free)
  }
  return order
}

/** SQL of all references between tables, without those of a table to itself. */
export const referencesBetween = `select distinct f.relname as from, t.relname as to
  from pg_constraint x join pg_class f on f.oid = x.conrelid join pg_class t on t.oid = x.confrelid
  where x.contype = 'f' and x.conparentid = 0 and f.oid <> t.oid and f.relnamespace = 'public'::regnamespace`
