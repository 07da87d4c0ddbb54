import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import pg from 'pg'
import { deriveKeys } from '../../src/config/secrets.ts'
import { migrate } from '../../src/db/migrate.ts'
import { MasterKeyError, openPeppers } from '../../src/modules/secrets/index.ts'
import { createTestDatabase } from '../support/database/test-database.ts'
import { schema, startKit, times } from '../support/deployment/deployment.ts'
import { idOf, readsB } from '../support/deployment/master-key-rotation.ts'

const read = async <T extends object>(url: string, question: string): Promise<T[]> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<T>(question)).rows
  } finally {
    await client.end()
  }
}

test('of twenty starts at once, with different lines, each key has one version', async (t) => {
  const database = await createTestDatabase(schema)
  t.after(database.drop)
  const [shared, ...own] = Array.from({ length: 6 }, () => randomBytes(32))
  const opened = await times(20, (i) => openPeppers(database.url, deriveKeys([shared!, own[i % own.length]!])))
  const rows = await read<{ version: number; key_id: string; written: boolean }>(
    database.url,
    'select version, key_id, written_at is not null as written from master_keys order by version',
  )
  assert.deepEqual(
    rows.map((row) => row.version),
    [1, 2, 3, 4, 5, 6],
  )
  assert.equal(new Set(rows.map((row) => row.key_id)).size, 6)
  const first = deriveKeys([shared!]).kek.kid
  assert.deepEqual(
    rows.filter((row) => row.written).map((row) => row.key_id),
    [first],
  )
  for (const { current } of opened) assert.equal(current.version, rows.find((row) => row.key_id === first)!.version)
})

test('of twenty first starts at once, each with a key of its own, those with one key go on', async (t) => {
  const database = await createTestDatabase(schema)
  t.after(database.drop)
  const keys = [deriveKeys([randomBytes(32)]), deriveKeys([randomBytes(32)])]
  const outcomes = await times(20, (i) =>
    openPeppers(database.url, keys[i % 2]!).then(
      () => `opened ${i % 2}`,
      (e: unknown) => {
        assert.ok(e instanceof MasterKeyError, String(e))
        return `refused ${i % 2}`
      },
    ),
  )
  const winner = outcomes.includes('opened 0') ? 0 : 1
  assert.deepEqual([...new Set(outcomes)].sort(), [`opened ${winner}`, `refused ${1 - winner}`])
  assert.equal((await read(database.url, 'select from master_keys')).length, 1)
  await openPeppers(database.url, keys[winner]!)
})

test('what a version before rotation left is of the key that sealed it, whatever stands in the file now', async (t) => {
  const kit = await startKit(t)
  for (const { stop } of kit.replicas) await stop()
  await read(
    kit.databaseUrl,
    `drop table master_keys;
     alter table user_totp drop column factor_id;
     alter table admin_sessions drop column secret_digest_version;
     alter table api_keys drop column secret_digest_version;
     alter table gateway_secrets drop column secret_digest_version;
     alter table enrollment_tokens drop column secret_digest_version;
     alter table recovery_codes drop column code_digest_version;
     delete from schema_migrations where name ~ '_master_keys'`,
  )
  await migrate(kit.databaseUrl)
  const stranger = deriveKeys([randomBytes(32)])
  await assert.rejects(openPeppers(kit.databaseUrl, stranger), new RegExp(`master key ${idOf.a} is in use`))
  const replica = await kit.startReplica(readsB)
  assert.equal((await kit.clientFor(kit.adminKey, replica).me()).tenant_id.slice(0, 4), 'tnt_')
  const { items } = await kit.clientFor(kit.adminKey, replica).listMasterKeys()
  assert.deepEqual(
    items.map(({ key_id, version, needed }) => [key_id, version, needed]),
    [
      [idOf.a, 1, true],
      [idOf.b, 2, false],
    ],
  )
})
