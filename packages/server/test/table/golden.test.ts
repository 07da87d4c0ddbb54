import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { operations } from '@holdfast/contract'
import { entryPermissions } from '@holdfast/contract/endpoint'
import { openapi } from '@holdfast/contract/openapi'
import { type Permission, permissions, type Role, roleNames, roles } from '@holdfast/contract/vocabulary'
import pg from 'pg'
import { describeSchema } from '../support/database/schema-dump.ts'
import { startKit } from '../support/deployment/deployment.ts'

const directory = join(import.meta.dirname, '../golden')
/** The public description of the interface stands at the root. */
const published = join(import.meta.dirname, '../../../../openapi')

/** Asserts that the printed text is the reviewed one. `UPDATE_GOLDEN=1` writes it for the next review. */
function golden(name: string, text: string, folder = directory): void {
  const file = join(folder, name)
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(file, text)
  const reviewed = readFileSync(file, 'utf8').split('\n')
  const line = text.split('\n').findIndex((l, i) => l !== reviewed[i])
  const same = text === reviewed.join('\n')
  assert.ok(
    same,
    `${name} differs from what was reviewed from line ${line + 1}: look at it, then run with UPDATE_GOLDEN=1`,
  )
}

const matrix = (rows: (readonly [string, readonly boolean[]])[]): string => {
  const width = Math.max(...rows.map(([name]) => name.length))
  const head = `${' '.repeat(width)}  ${roleNames.join('  ')}`
  const lines = rows.map(([name, cells]) =>
    `${name.padEnd(width)}  ${cells.map((yes, i) => (yes ? 'x' : '-').padEnd(roleNames[i]!.length)).join('  ')}`.trimEnd(),
  )
  return `${[head, ...lines].join('\n')}\n`
}
const has = (role: Role, permission: string) => (roles[role] as readonly string[]).includes(permission)

/** Prints JSON with short parts on one line. The name of an only member stays on the line of its brace. */
function printed(value: unknown, indent = '', room = 120): string {
  const flat = JSON.stringify(value)
  if (typeof value !== 'object' || value === null || flat.length + indent.length <= room) return flat
  const [alone, ...others] = Array.isArray(value) ? [] : Object.entries(value)
  if (alone && others.length === 0)
    return `{${JSON.stringify(alone[0])}: ${printed(alone[1], indent, room - alone[0].length - 6)}}`
  const deeper = `${indent}  `
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const parts = Array.isArray(value)
    ? value.map((v) => printed(v, deeper))
    : Object.entries(value).map(([k, v]) => `${JSON.stringify(k)}: ${printed(v, deeper, 120 - k.length - 4)}`)
  return `${open}\n${parts.map((part) => deeper + part).join(',\n')}\n${indent}${close}`
}

test('OpenAPI is what was reviewed', () => {
  const text = printed(openapi())
  assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(openapi())))
  golden('holdfast.json', `${text}\n`, published)
})

test('role × permission is what was reviewed', () =>
  golden('roles.txt', matrix(permissions.map((p) => [p, roleNames.map((role) => has(role, p))]))))

test('route × role is what was reviewed', () =>
  golden(
    'routes.txt',
    matrix(
      operations.flatMap(([, e]) => {
        const { access } = e
        const kinds = access.by === 'anyone' ? 'anyone' : access.by.join(',')
        const people = access.by !== 'anyone' && (access.by.includes('session') || access.by.includes('api_key'))
        const may = (needed: readonly Permission[] | undefined) =>
          roleNames.map((role) => access.by === 'anyone' || (people && (!needed || needed.some((p) => has(role, p)))))
        const row = (name: string, needed: readonly Permission[] | undefined) =>
          [`${e.method} ${e.path}${name} [${kinds}]`, may(needed)] as const
        return e.operations
          ? Object.entries(e.operations).map(([name, { permission }]) => row(` ${name}`, [permission]))
          : [row('', entryPermissions(e))]
      }),
    ),
  ))

test('the database schema is what was reviewed', async (t) => {
  const kit = await startKit(t)
  const client = new pg.Client({ connectionString: kit.databaseUrl })
  await client.connect()
  const schema = await describeSchema(client)
  await client.end()
  golden('schema.txt', schema)
})
