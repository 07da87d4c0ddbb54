import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Node, parseSync, type SelectStmt, type WithClause } from 'libpg-query'
import { tenantTables } from './guard.ts'

const migrations = join(import.meta.dirname, '../../migrations')
const ddl = globSync('*.sql', { cwd: migrations })
  .sort()
  .map((f) => readFileSync(join(migrations, f), 'utf8'))
  .join('\n')
/** The columns of each table's primary key. */
const keys = new Map(
  [...ddl.matchAll(/^create table (\w+) \(([\s\S]*?)^\)/gm)].map(([, table, body]) => {
    const whole = /primary key \(([^)]*)\)/.exec(body!)?.[1]?.split(/,\s*/)
    return [table!, whole ?? [...body!.matchAll(/^\s*(\w+) .*primary key/gm)].map((m) => m[1]!)]
  }),
)

/**
 * Row locks that a statement takes on a table. Rows that it inserts are not counted: no other transaction can see them
 * yet.
 */
export type Lock = { table: string; isOrdered: boolean }

/** The locks of a statement in the order in which PostgreSQL takes them when parts of the statement feed others. */
export function locksOf(text: string): Lock[] {
  const locks: Lock[] = []

  function statement(node: Node) {
    if ('SelectStmt' in node) select(node.SelectStmt)
    else if ('InsertStmt' in node) {
      const s = node.InsertStmt
      parts(s.withClause)
      below(s.selectStmt)
      if (s.onConflictClause?.action === 'ONCONFLICT_UPDATE') take(s.relation?.relname, isOrderedInsert(s.selectStmt))
    } else if ('UpdateStmt' in node) {
      const s = node.UpdateStmt
      change(s.relation?.relname, s.withClause, s.fromClause, s.whereClause)
    } else if ('DeleteStmt' in node) {
      const s = node.DeleteStmt
      change(s.relation?.relname, s.withClause, s.usingClause, s.whereClause)
    }
  }
  function change(
    table: string | undefined,
    withClause: WithClause | undefined,
    from: Node[] | undefined,
    where: Node | undefined,
  ) {
    const before = locks.length
    parts(withClause)
    below(from)
    below(where)
    // Ordered: rows that this statement has already locked in order, or a single row.
    const own = locks.slice(before).some((l) => l.table === table && l.isOrdered)
    take(table, own || isOne(table, where))
  }
  function select(s: SelectStmt) {
    parts(s.withClause)
    for (const arm of [s.larg, s.rarg]) if (arm) select(arm)
    below(s.fromClause)
    below(s.whereClause)
    below(s.targetList)
    if (!s.lockingClause) return
    const aliases = new Map<string, string>()
    for (const v of rangeVars(s.fromClause)) aliases.set(v.alias?.aliasname ?? v.relname!, v.relname!)
    const named = s.lockingClause.flatMap((c) => ('LockingClause' in c ? (c.LockingClause.lockedRels ?? []) : []))
    const given = named.flatMap((n) => ('RangeVar' in n ? [n.RangeVar.relname!] : []))
    for (const name of given.length > 0 ? given : aliases.keys()) {
      const table = aliases.get(name) ?? name
      take(table, s.sortClause !== undefined || isOne(table, s.whereClause))
    }
  }
  function parts(clause: WithClause | undefined) {
    for (const node of clause?.ctes ?? [])
      if ('CommonTableExpr' in node && node.CommonTableExpr.ctequery) statement(node.CommonTableExpr.ctequery)
  }
  /** Visits statements anywhere in a tree. */
  function below(tree: unknown) {
    if (Array.isArray(tree)) for (const each of tree) below(each)
    else if (typeof tree === 'object' && tree !== null) {
      if ('SelectStmt' in tree) select((tree as Extract<Node, { SelectStmt: unknown }>).SelectStmt)
      else for (const each of Object.values(tree)) below(each)
    }
  }
  function take(table: string | undefined, isOrdered: boolean) {
    if (table && (tenantTables.has(table) || keys.has(table))) locks.push({ table, isOrdered })
  }

  for (const { stmt } of parseSync(text).stmts ?? []) if (stmt) statement(stmt)
  return locks
}

/** True if the condition names the whole primary key. */
function isOne(table: string | undefined, where: Node | undefined): boolean {
  const key = table && keys.get(table)
  const given = equalColumns(where)
  return key ? key.every((column) => given.has(column)) : false
}

/** The columns that an AND compares with a given value. */
function equalColumns(node: Node | undefined): Set<string> {
  if (!node) return new Set()
  if ('BoolExpr' in node && node.BoolExpr.boolop === 'AND_EXPR')
    return new Set((node.BoolExpr.args ?? []).flatMap((arg) => [...equalColumns(arg)]))
  if (!('A_Expr' in node) || node.A_Expr.kind !== 'AEXPR_OP') return new Set()
  const operator = node.A_Expr.name?.[0]
  if (!operator || !('String' in operator) || operator.String.sval !== '=') return new Set()
  const { lexpr, rexpr } = node.A_Expr
  const column = (e: Node | undefined) => {
    const last = e && 'ColumnRef' in e ? e.ColumnRef.fields?.at(-1) : undefined
    return last && 'String' in last ? last.String.sval : undefined
  }
  const [left, right] = [column(lexpr), column(rexpr)]
  return new Set(
    [left, right].filter((c) => c !== undefined && (left === undefined || right === undefined)) as string[],
  )
}

/** True for one row, or for rows in a stated order. */
function isOrderedInsert(source: Node | undefined): boolean {
  if (!source || !('SelectStmt' in source)) return true
  const { valuesLists, sortClause } = source.SelectStmt
  return valuesLists ? valuesLists.length === 1 : sortClause !== undefined
}

type RangeVar = { relname?: string; alias?: { aliasname?: string } }
function rangeVars(tree: unknown): RangeVar[] {
  if (Array.isArray(tree)) return tree.flatMap(rangeVars)
  if (typeof tree !== 'object' || tree === null || 'RangeSubselect' in tree) return []
  if ('RangeVar' in tree) return [tree.RangeVar as RangeVar]
  return Object.values(tree).flatMap(rangeVars)
}

type Taken = { table: string; origin: string }
/**
 * Derives the order of tables from the locks of transactions. A table counts at its first lock only: later locks on it
 * concern rows that were already locked. `opposite` lists each pair that another transaction, or a chain of several,
 * locks in the reverse order.
 */
export function orderOf(courses: readonly (readonly Taken[])[]): { pairs: number; opposite: string[] } {
  /** For each table: the tables locked after it, each with the first place where this was seen. */
  const after = new Map<string, Map<string, string>>()
  for (const course of courses) {
    const seen = new Map<string, string>()
    for (const { table, origin } of course) {
      if (seen.has(table)) continue
      for (const [earlier, at] of seen) {
        const known = after.get(earlier) ?? new Map<string, string>()
        if (!known.has(table)) known.set(table, `${at} → ${origin}`)
        after.set(earlier, known)
      }
      seen.set(table, origin)
    }
  }
  const opposite: string[] = []
  for (const [first, rest] of after)
    for (const [second, where] of rest) {
      const back = wayBack(after, second, first)
      if (back) opposite.push(`${first} before ${second} (${where}), but ${back}`)
    }
  return { pairs: [...after.values()].reduce((n, m) => n + m.size, 0), opposite }
}

/** The shortest path between two tables along the order of locking. */
function wayBack(
  after: ReadonlyMap<string, ReadonlyMap<string, string>>,
  from: string,
  to: string,
): string | undefined {
  const queue: { table: string; steps: string[] }[] = [{ table: from, steps: [] }]
  const visited = new Set([from])
  for (const { table, steps } of queue)
    for (const [next, where] of after.get(table) ?? []) {
      const way = [...steps, `${table} before ${next} (${where})`]
      if (next === to) return way.join(', ')
      if (visited.has(next)) continue
      visited.add(next)
      queue.push({ table: next, steps: way })
    }
  return undefined
}
