// Run by scripts/test.mjs after the tests. Judges every statement that the servers under test have sent.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { loadModule } from 'libpg-query'
import { type Fault, type Judgement, judge, tenantTables } from './guard.ts'
import { acrossTenants, awaitedAlone, fromRelations, inNoOrder } from './lists.ts'
import { locksOf, orderOf } from './locks.ts'
import { mayTouch, owners } from './owners.ts'
import type { Course, Sent } from './record.ts'

const directory = process.env.HOLDFAST_TEST_STATEMENTS ?? ''
const recorded: (Sent | Course)[] = globSync('*.jsonl', { cwd: directory }).flatMap((f) =>
  readFileSync(join(directory, f), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Sent | Course),
)
const sent = recorded.filter((r): r is Sent => 'text' in r)
const courses = recorded.filter((r): r is Course => 'course' in r)
const statements = [...Map.groupBy(sent, (s) => `${s.origin}\n${s.text}`).values()].map((all) => ({
  ...all[0]!,
  scopes: new Set(all.map((s) => s.scope)),
}))
const isWholeRun = process.env.HOLDFAST_TEST_WHOLE_RUN === '1'
const judged = new Map<string, Judgement>()

before(async () => {
  await loadModule()
  for (const { text } of statements) if (!judged.has(text)) judged.set(text, judge(text))
})

/** The faults of a statement, including those of the scope in which it ran. */
function faultsOf({ text, scopes }: (typeof statements)[number]): { fault: Fault; what: string }[] {
  const { faults, reads, writes } = judged.get(text)!
  const touched = [...reads, ...writes].filter((table) => tenantTables.has(table))
  const isOpen = scopes.has('all') && touched.length > 0 && !faults.some((f) => f.fault === 'unbound')
  return isOpen ? [...faults, { fault: 'no_wall', what: touched.join(', ') }] : faults
}
/** The sources that may have a fault. */
const listOf = (fault: Fault): Readonly<Record<string, string>> => {
  if (fault === 'insert_select') return fromRelations
  return (['unbound', 'no_wall', 'tenant_moves'] as Fault[]).includes(fault) ? acrossTenants : {}
}

test('every statement is bound to one tenant at every level, or is listed as an exception', (t) => {
  const bad = new Set<string>()
  for (const statement of statements) {
    const { origin } = statement
    for (const { fault, what } of faultsOf(statement))
      if (!(origin in listOf(fault))) bad.add(`${origin}: ${fault} (${what})`)
  }
  t.diagnostic(`${statements.length} statements from ${new Set(statements.map((s) => s.origin)).size} places`)
  assert.deepEqual([...bad], [])
})

test('every statement touches only tables of its own module, and those that it may use of others', () => {
  const bad = statements.flatMap(({ origin, text }) => {
    const { reads, writes } = judged.get(text)!
    const touched = [
      ...Array.from(reads, (t) => ['reads', t] as const),
      ...Array.from(writes, (t) => ['writes', t] as const),
    ]
    return touched
      .filter(([how, table]) => table in owners && !mayTouch(origin, table, how))
      .map(([how, table]) => `${origin} ${how} ${table}`)
  })
  assert.deepEqual([...new Set(bad)], [])
})

test('the lists of exceptions have no unused entry', { skip: !isWholeRun }, () => {
  const needed = statements.flatMap((s) => faultsOf(s).map(({ fault }) => [s.origin, listOf(fault)] as const))
  const idle = [acrossTenants, fromRelations].flatMap((list) =>
    Object.keys(list).filter((origin) => !needed.some(([its, by]) => its === origin && by === list)),
  )
  assert.deepEqual(idle, [])
})

test('an insert of given rows that also selects from a table is refused', (t) => {
  const givenRows = /\bfrom (?=unnest\(|jsonb_to_recordset\()/
  const inserts = [...judged.keys()].filter((text) => /^\s*insert into\b/.test(text) && givenRows.test(text))
  const blamed = (text: string) => judge(text).faults.some((f) => f.fault === 'insert_select')
  const mutants = inserts
    .filter((text) => [...judged.get(text)!.writes].some((table) => tenantTables.has(table)))
    .flatMap((text) => [
      text.replace(givenRows, 'from (select from devices where tenant_id = $1) as more, '),
      text.replace(givenRows, 'from devices as more, '),
    ])
  t.diagnostic(`${mutants.length} mutants`)
  assert.deepEqual(
    mutants.filter((text) => !blamed(text)),
    [],
  )
})

test('a statement without the tenant condition of one of its relations is refused', (t) => {
  const condition = /(?:"?(\w+)"?\.)?"?tenant_id"? = (?:\$\d+(?:::uuid)?|"?(\w+)"?\."?tenant_id"?)/g
  let mutants = 0
  const survivors: string[] = []
  const isRefused = (mutant: string) => {
    mutants++
    return judge(mutant).faults.length > 0
  }
  for (const [text, { faults }] of judged) {
    if (faults.length > 0) continue
    for (const { 0: whole, 1: left, 2: right, index } of text.matchAll(condition)) {
      if (isRefused(`${text.slice(0, index)}true${text.slice(index + whole.length)}`)) continue
      // A relation bound by several conditions is tested without all of them together.
      const ofIt = (name: string | undefined) => (found: string, l?: string, r?: string) =>
        l === name || r === name ? 'true' : found
      for (const name of right ? [left, right] : [left])
        if (!isRefused(text.replaceAll(condition, ofIt(name)))) survivors.push(`${name} in ${text}`)
    }
  }
  t.diagnostic(`${mutants} mutants`)
  assert.deepEqual(survivors, [])
})

test('a statement that changes several rows of a table locks them in key order', (t) => {
  const bad = new Set<string>()
  const needed = new Set<string>()
  for (const { origin, text } of statements)
    for (const { table, isOrdered } of locksOf(text)) {
      if (isOrdered) continue
      if (origin in inNoOrder) needed.add(origin)
      else bad.add(`${origin}: ${table}`)
    }
  const unused = Object.keys(inNoOrder).filter((origin) => !needed.has(origin))
  t.diagnostic(`${needed.size} named exceptions; not sent in this run: ${unused.join(', ')}`)
  assert.deepEqual([...bad].sort(), [])
  if (isWholeRun) assert.deepEqual(unused, [])
})

test('no two transactions lock two tables in opposite orders', (t) => {
  const originOf = new Map(statements.map((s) => [s.text, s.origin]))
  const { pairs, opposite } = orderOf(
    courses.map(({ course }) =>
      course.flatMap((text) =>
        locksOf(text)
          .filter(({ table }) => !(table in awaitedAlone))
          .map(({ table }) => ({ table, origin: originOf.get(text) ?? '' })),
      ),
    ),
  )
  t.diagnostic(`${courses.length} courses of transactions, ${pairs} pairs of tables`)
  assert.deepEqual(opposite, [])
})
