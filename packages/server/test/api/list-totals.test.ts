import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { startKit } from '../support/deployment/deployment.ts'

test('totals of lists pass the limit of costly requests, and lists without a total do not', async (t) => {
  const { admin, databaseUrl } = await startKit(t)
  const holder = new pg.Client({ connectionString: databaseUrl })
  // A test that failed ends before this one does.
  holder.on('error', () => {})
  await holder.connect()
  for (const [table, list] of [
    ['devices', (query: { count?: 'estimate' }) => admin.listDevices({ query })],
    ['user_totp', (query: { count?: 'estimate' }) => admin.listUsers({ query })],
  ] as const) {
    const refusedOf = async (query: { count?: 'estimate' }) => {
      await holder.query(`begin; lock table ${table} in access exclusive mode`)
      // Three requests of a tenant run and 64 wait, so two are too many.
      const codes: unknown[] = []
      const all = Array.from({ length: 69 }, () =>
        list(query).then(
          () => undefined,
          (e: { code?: string }) => codes.push(e.code),
        ),
      )
      await Promise.race([Promise.all(all), new Promise((done) => setTimeout(done, 300))])
      await holder.query('commit')
      await Promise.all(all)
      return codes.filter((code) => code === 'rate_limited').length
    }
    assert.ok((await refusedOf({ count: 'estimate' })) >= 2, table)
    assert.equal(await refusedOf({}), 0, table)
  }
  await holder.end()
})
