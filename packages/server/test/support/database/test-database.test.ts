// Own process: it sends statements that are not to be judged.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import { createTestDatabase, type Template } from './test-database.ts'

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

function countedTemplate(prepare: (url: string) => Promise<unknown>): { template: Template; runs: () => number } {
  let runs = 0
  return {
    runs: () => runs,
    template: {
      name: `of_process_${process.pid}_${Math.random().toString(36).slice(2)}`,
      async prepare(url) {
        runs++
        await prepare(url)
      },
    },
  }
}

test('databases created at the same time share one template and nothing else', async () => {
  const { template, runs } = countedTemplate((url) => query(url, 'create table t (n int); insert into t values (1)'))
  const [one, two, three] = await Promise.all([1, 2, 3].map(() => createTestDatabase(template)))
  await query(one!.url, 'insert into t values (2)')
  assert.equal(runs(), 1)
  assert.deepEqual(await query(one!.url, 'select n from t order by n'), [{ n: 1 }, { n: 2 }])
  assert.deepEqual(await query(two!.url, 'select n from t'), [{ n: 1 }])
  await Promise.all([one, two, three].map((database) => database!.drop()))
  await assert.rejects(query(one!.url, 'select 1'), { code: '3D000' })
})

test('a failed template is reported and removed', async () => {
  let healthy = false
  const { template, runs } = countedTemplate((url) =>
    query(url, healthy ? 'create table t ()' : 'create table t (); bad'),
  )
  await assert.rejects(createTestDatabase(template), { code: '42601' })
  healthy = true
  const database = await createTestDatabase(template)
  assert.deepEqual(await query(database.url, 'select from t'), [])
  assert.equal(runs(), 2)
  await database.drop()
})

test('a database is dropped despite open connections', async () => {
  const database = await createTestDatabase()
  const client = new Client({ connectionString: database.url })
  const lost = new Promise((resolve) => client.on('error', resolve))
  await client.connect()
  await database.drop()
  await lost
})
