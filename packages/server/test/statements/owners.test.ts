import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { alsoReads, alsoWrites, mayTouch, owners } from './owners.ts'

const src = join(import.meta.dirname, '../../src')
const tables = new Set(
  globSync('db/tables/*.ts', { cwd: src }).flatMap((file) =>
    Array.from(readFileSync(join(src, file), 'utf8').matchAll(/^ {2}(\w+): \{/gm), ([, name = '']) => name),
  ),
)
test('each file of db/tables holds the tables of one module', () => {
  for (const [table, owner] of Object.entries(owners)) {
    const file = readFileSync(join(src, `db/tables/${owner}.ts`), 'utf8')
    assert.match(file, new RegExp(`^ {2}${table}: \\{`, 'm'), `${table} belongs to db/tables/${owner}.ts`)
  }
})

const patterns = {
  writes: [
    /\b(?:insertInto|updateTable|deleteFrom|deleting|leaseOf)\('(\w+)/g,
    /\bpurging\('\w+', '(\w+)/g,
    /\b(?:insert into|delete from|update) (\w+)/g,
  ],
  reads: [
    /\b(?:selectFrom|\w+Join)\('(\w+)/g,
    /(?<!delete )\b(?:from|join|using) (\w+)/g,
    /sql`(\w+) (?:\w+ )?(?:where|join)/g,
  ],
} as const

/** The tables that a source file reads and writes, through Kysely or in its own SQL. */
export function touchedBy(text: string): { how: 'reads' | 'writes'; table: string }[] {
  const code = text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
  return (['reads', 'writes'] as const).flatMap((how) =>
    patterns[how].flatMap((pattern) =>
      Array.from(code.matchAll(pattern), ([, table = '']) => ({ how, table })).filter(({ table }) => tables.has(table)),
    ),
  )
}
const touched = globSync('**/*.ts', { cwd: src, exclude: ['embedded/**', 'db/tables/**', '**/*.test.ts'] }).flatMap(
  (f) => {
    const origin = f.replace(/^modules\//, '')
    return touchedBy(readFileSync(join(src, f), 'utf8')).map((t) => ({ ...t, origin }))
  },
)

test('a module writes only its own tables, and reads others only as declared', (t) => {
  t.diagnostic(`${touched.length} uses of ${tables.size} tables`)
  assert.deepEqual([...tables].sort(), Object.keys(owners).sort())
  const bad = touched.filter(({ origin, table, how }) => !mayTouch(origin, table, how))
  assert.deepEqual([...new Set(bad.map((b) => `${b.origin} ${b.how} ${b.table}`))], [])
})

test("every declared use of another module's table exists", () => {
  const has = (room: string, table: string, how: string) =>
    touched.some((t) => t.origin.startsWith(`${room}/`) && t.table === table && t.how === how)
  const idle = (list: typeof alsoReads, how: string) =>
    Object.entries(list).flatMap(([room, of]) => Object.keys(of).filter((table) => !has(room, table, how)))
  assert.deepEqual([...idle(alsoReads, 'reads'), ...idle(alsoWrites, 'writes')], [])
})

test('a statement that touches a table of another module is found in any notation', () => {
  const foreign = [
    ["tx.updateTable('users').set({})", 'writes users'],
    ["tx.insertInto('audit_arrivals')", 'writes audit_arrivals'],
    ['sql`update devices d set name = 1`', 'writes devices'],
    ['sql`insert into\u0020groups (a)`', 'writes groups'],
    ['sql`with x as (delete from vpn_sessions) select 1`', 'writes vpn_sessions'],
    ["tx.selectFrom('signing_keys')", 'reads signing_keys'],
    ["q.leftJoin('api_keys as k')", 'reads api_keys'],
    ['sql`select 1 from x join trust_sets t on true`', 'reads trust_sets'],
  ] as const
  for (const [text, found] of foreign) {
    const [seen] = touchedBy(text).map(({ how, table }) => `${how} ${table}`)
    assert.equal(seen, found)
    const [how = 'reads', table = ''] = found.split(' ') as ['reads' | 'writes', string]
    assert.equal(mayTouch('notifications/x.queries.ts', table, how), false, text)
  }
})
