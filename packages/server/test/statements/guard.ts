import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type InsertStmt, type Node, parseSync, type RangeVar, type SelectStmt, type WithClause } from 'libpg-query'

const migrations = join(import.meta.dirname, '../../migrations')
const ddl = globSync('*.sql', { cwd: migrations })
  .map((f) => readFileSync(join(migrations, f), 'utf8'))
  .join('\n')
/** The tables with rows of tenants, protected by row-level security. */
export const tenantTables: ReadonlySet<string> = new Set(
  [...ddl.matchAll(/call raise_tenant_wall\('(\w+)'\)/g)].map((m) => m[1]!),
)
/** Tables that belong to no tenant. */
export const sharedTables: ReadonlySet<string> = new Set([
  'proofs_seen',
  'unneeded_token_keys',
  'login_failures',
  'replicas',
  'listening',
  'plans',
  'licenses',
  'deployment',
  'master_keys',
  'schema_migrations',
  'retention_periods',
  'retention_clock',
])

export type Fault =
  /** A relation with rows of tenants is not bound to one tenant. */
  | 'unbound'
  /** The statement locks rows of relations that are not bound. */
  | 'locks_across'
  /** A sub-select in RETURNING. */
  | 'returning'
  /**
   * Rows of tenants are inserted from a relation and not from parameters. A distributed PostgreSQL can't route this.
   */
  | 'insert_select'
  /** The statement moves a row to another tenant, or resolves a conflict without the tenant. */
  | 'tenant_moves'
  /** The statement is bound, but ran in a scope without row-level security. */
  | 'no_wall'
  /** A table that is in none of the lists. */
  | 'unknown_table'
export type Judgement = { faults: { fault: Fault; what: string }[]; reads: Set<string>; writes: Set<string> }

/** A relation of one level. `bound` is true once the relation is known to hold rows of a single tenant. */
type Relation = { name: string; table: string | undefined; hasTenant: boolean; bound: boolean }
type Level = { relations: Relation[]; outer: Level | undefined; ctes: Map<string, Relation> }

/** Returns the faults of a statement at every level. Call `loadModule()` of libpg-query first. */
export function judge(text: string): Judgement {
  const judgement: Judgement = { faults: [], reads: new Set(), writes: new Set() }
  const blame = (fault: Fault, what: string) => judgement.faults.push({ fault, what })

  function query(node: Node, outer: Level | undefined): boolean {
    if ('SelectStmt' in node) return select(node.SelectStmt, outer)
    const level: Level = { relations: [], outer, ctes: new Map(outer?.ctes) }
    if ('InsertStmt' in node) return insert(node.InsertStmt, level)
    if ('UpdateStmt' in node) {
      const s = node.UpdateStmt
      withClause(s.withClause, level)
      const target = relation(s.relation, level, judgement.writes)
      const conditions = [...from(s.fromClause, level), ...conjuncts(s.whereClause)]
      if (s.targetList?.some((t) => 'ResTarget' in t && t.ResTarget.name === 'tenant_id')) blame('tenant_moves', 'set')
      close(level, conditions, [s.targetList, s.whereClause])
      returning(s.returningClause?.exprs, level)
      return target?.bound ?? false
    }
    if ('DeleteStmt' in node) {
      const s = node.DeleteStmt
      withClause(s.withClause, level)
      const target = relation(s.relation, level, judgement.writes)
      const conditions = [...from(s.usingClause, level), ...conjuncts(s.whereClause)]
      close(level, conditions, [s.whereClause])
      returning(s.returningClause?.exprs, level)
      return target?.bound ?? false
    }
    // A statement without tables (listen, call, set) has nothing to bind.
    for (const v of rangeVars(node)) relation(v, level, judgement.reads)
    close(level, [], [])
    return false
  }

  /** Judges a SELECT. True if its result has rows of a single tenant only. */
  function select(s: SelectStmt, outer: Level | undefined): boolean {
    const level: Level = { relations: [], outer, ctes: new Map(outer?.ctes) }
    withClause(s.withClause, level)
    if (s.op && s.op !== 'SETOP_NONE') {
      const arms = [s.larg, s.rarg].map((arm) => (arm ? select(arm, level) : true))
      return arms.every(Boolean)
    }
    const conditions = [...from(s.fromClause, level), ...conjuncts(s.whereClause)]
    close(level, conditions, [s.targetList, s.whereClause, s.havingClause, s.sortClause, s.groupClause, s.valuesLists])
    if (s.lockingClause && level.relations.some((r) => r.hasTenant && !r.bound)) blame('locks_across', names(level))
    const ofTenants = level.relations.filter((r) => r.hasTenant)
    const says = s.targetList?.some((t) => 'ResTarget' in t && isGiven(t.ResTarget.val) && isNamedTenant(t.ResTarget))
    return (ofTenants.length > 0 && ofTenants.every((r) => r.bound)) || says === true
  }
  const isNamedTenant = (t: { name?: string }) => t.name === 'tenant_id'

  function insert(s: InsertStmt, level: Level): boolean {
    withClause(s.withClause, level)
    const table = s.relation?.relname ?? ''
    judgement.writes.add(table)
    if (!tenantTables.has(table) && !sharedTables.has(table)) blame('unknown_table', table)
    const source = s.selectStmt && 'SelectStmt' in s.selectStmt ? s.selectStmt.SelectStmt : undefined
    const ofTenant = tenantTables.has(table)
    const at = (s.cols ?? []).findIndex((c) => 'ResTarget' in c && c.ResTarget.name === 'tenant_id')
    let bound = false
    if (source?.valuesLists) {
      bound = source.valuesLists.every((row) => 'List' in row && isGiven(row.List.items?.[at]))
      subSelects(source.valuesLists, level)
    } else if (source) {
      const rows = select(source, level)
      const given = source.targetList?.[at]
      bound = given && 'ResTarget' in given && isGiven(given.ResTarget.val) ? true : rows
    }
    if (ofTenant && rangeVars(source).length > 0) blame('insert_select', table)
    if (ofTenant && !bound) blame('unbound', table)
    const conflict = s.onConflictClause
    if (ofTenant && conflict?.infer) {
      const columns = conflict.infer.indexElems?.map((e) => ('IndexElem' in e ? e.IndexElem.name : undefined))
      if (!columns?.includes('tenant_id')) blame('tenant_moves', `on conflict of ${table}`)
    }
    level.relations.push({ name: s.relation?.alias?.aliasname ?? table, table, hasTenant: ofTenant, bound: true })
    subSelects([conflict?.targetList, conflict?.whereClause], level)
    returning(s.returningClause?.exprs, level)
    return bound
  }

  function withClause(clause: WithClause | undefined, level: Level) {
    for (const node of clause?.ctes ?? []) {
      if (!('CommonTableExpr' in node) || !node.CommonTableExpr.ctequery) continue
      const { ctename = '', ctequery } = node.CommonTableExpr
      const own: Relation = { name: ctename, table: undefined, hasTenant: false, bound: true }
      if (clause?.recursive) level.ctes.set(ctename, own)
      const bound = query(ctequery, level)
      level.ctes.set(ctename, { ...own, bound })
    }
  }

  function relation(v: RangeVar | undefined, level: Level, into: Set<string>): Relation | undefined {
    const table = v?.relname
    if (!table) return undefined
    const name = v.alias?.aliasname ?? table
    const cte = v.schemaname ? undefined : level.ctes.get(table)
    const known = v.schemaname === 'pg_catalog' || table.startsWith('pg_')
    if (!cte && !known) {
      into.add(table)
      if (!tenantTables.has(table) && !sharedTables.has(table)) blame('unknown_table', table)
    }
    const made = cte ? { ...cte, name } : { name, table, hasTenant: tenantTables.has(table), bound: false }
    level.relations.push(made)
    return made
  }

  /** Adds the relations of a FROM clause and returns the binding conditions of its joins. */
  function from(list: Node[] | undefined, level: Level): Condition[] {
    return (list ?? []).flatMap((item) => {
      if ('RangeVar' in item) {
        relation(item.RangeVar, level, judgement.reads)
        return []
      }
      if ('RangeSubselect' in item) {
        const { alias, subquery } = item.RangeSubselect
        const bound = subquery ? query(subquery, level) : false
        level.relations.push({ name: alias?.aliasname ?? '', table: undefined, hasTenant: false, bound })
        return []
      }
      if ('JoinExpr' in item) {
        const { larg, rarg, quals, jointype, usingClause } = item.JoinExpr
        const [left, right] = [larg, rarg].map((arm) => {
          const before = level.relations.length
          const conditions = from(arm ? [arm] : [], level)
          return { conditions, relations: new Set(level.relations.slice(before)) }
        })
        const on = conjuncts(quals)
        if (usingClause?.some((u) => 'String' in u && u.String.sval === 'tenant_id'))
          on.push({ left: [...left!.relations].at(-1)!, right: [...right!.relations][0]! })
        // The condition of an outer join does not limit the rows of the preserved side.
        const only = { JOIN_LEFT: right!.relations, JOIN_RIGHT: left!.relations, JOIN_FULL: new Set<Relation>() }
        const limited = only[jointype as keyof typeof only]
        return [...left!.conditions, ...right!.conditions, ...on.map((c) => (limited ? { ...c, only: limited } : c))]
      }
      if ('RangeFunction' in item) {
        level.relations.push({
          name: item.RangeFunction.alias?.aliasname ?? '',
          table: undefined,
          hasTenant: false,
          bound: false,
        })
        subSelects([item.RangeFunction.functions], level)
      }
      return []
    })
  }

  /** Works out which relations of the level are bound, judges the levels below, and reports the unbound ones. */
  function close(level: Level, conditions: Condition[], below: unknown[]) {
    const find = (c: Column | Relation): Relation | undefined => {
      if (!('column' in c)) return c
      for (let l: Level | undefined = level; l; l = l.outer) {
        const fits = l.relations.filter((r) => (c.column ? r.name === c.column : r.hasTenant))
        if (fits.length > 0) return fits.length === 1 || c.column ? fits[0] : undefined
      }
      return undefined
    }
    for (let changed = true; changed; ) {
      changed = false
      for (const c of conditions) {
        const sides = [c.left, c.right].map((s) => (s === 'given' ? 'given' : find(s)))
        for (const [a, b] of [sides, [...sides].reverse()])
          if (a && a !== 'given' && !a.bound && b && (b === 'given' || b.bound) && (!c.only || c.only.has(a)))
            if (level.relations.includes(a)) {
              a.bound = true
              changed = true
            }
      }
    }
    for (const r of level.relations) if (r.hasTenant && !r.bound) blame('unbound', r.table ?? r.name)
    subSelects(below, level)
  }
  const names = (level: Level) => level.relations.map((r) => r.name).join(', ')

  function returning(list: Node[] | undefined, level: Level) {
    const before = judgement.reads.size
    const found = subSelects(list, level)
    if (found > 0 || judgement.reads.size > before) blame('returning', names(level))
  }

  /** Judges every sub-select of an expression. Returns their number. */
  function subSelects(tree: unknown, level: Level): number {
    if (Array.isArray(tree)) return tree.reduce((n: number, t) => n + subSelects(t, level), 0)
    if (typeof tree !== 'object' || tree === null) return 0
    if ('SubLink' in tree) {
      const { subselect, testexpr } = (tree as Extract<Node, { SubLink: unknown }>).SubLink
      if (subselect) query(subselect, level)
      return 1 + subSelects(testexpr, level)
    }
    return Object.values(tree).reduce((n: number, t) => n + subSelects(t, level), 0)
  }

  for (const { stmt } of parseSync(text).stmts ?? []) if (stmt) query(stmt, undefined)
  return judgement
}

type Column = { column: string | undefined }
/** `left.tenant_id = right.tenant_id`, or `= $n`. With `only`, the condition limits just these relations. */
type Condition = { left: Side; right: Side; only?: Set<Relation> }
type Side = Column | Relation | 'given'

/** The comparisons of tenants in an AND. */
function conjuncts(node: Node | undefined): Condition[] {
  if (!node) return []
  if ('BoolExpr' in node)
    return node.BoolExpr.boolop === 'AND_EXPR' ? (node.BoolExpr.args ?? []).flatMap(conjuncts) : []
  if (!('A_Expr' in node) || node.A_Expr.kind !== 'AEXPR_OP') return []
  const operator = node.A_Expr.name?.[0]
  if (!operator || !('String' in operator) || operator.String.sval !== '=') return []
  const rows = [node.A_Expr.lexpr, node.A_Expr.rexpr].map((e) => (e && 'RowExpr' in e ? (e.RowExpr.args ?? []) : [e]))
  return rows[0]!.flatMap((l, i) => {
    const [left, right] = [side(l), side(rows[1]![i])]
    return left && right && !(left === 'given' && right === 'given') ? [{ left, right }] : []
  })
}

function side(e: Node | undefined): Exclude<Side, Relation> | undefined {
  if (isGiven(e)) return 'given'
  if (!e || !('ColumnRef' in e)) return undefined
  const path = (e.ColumnRef.fields ?? []).map((f) => ('String' in f ? f.String.sval : '*'))
  return path.at(-1) === 'tenant_id' ? { column: path.at(-2) } : undefined
}

/** True for a parameter, with or without a cast. */
const isGiven = (e: Node | undefined): boolean =>
  e !== undefined && ('ParamRef' in e || ('TypeCast' in e && isGiven(e.TypeCast.arg)))

function rangeVars(tree: unknown): RangeVar[] {
  if (Array.isArray(tree)) return tree.flatMap(rangeVars)
  if (typeof tree !== 'object' || tree === null) return []
  if ('RangeVar' in tree) return [tree.RangeVar as RangeVar]
  return Object.values(tree).flatMap(rangeVars)
}
