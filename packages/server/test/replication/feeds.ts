import type { TestContext } from 'node:test'
import pg from 'pg'
import { connectDatabase } from '../../src/db/database.ts'
import type { TenantId } from '../../src/kernel/actor.ts'
import { newUuid } from '../../src/kernel/ids.ts'
import { type Change, createChanges } from '../../src/replication/changes.ts'
import { createClock } from '../../src/replication/clock.ts'
import { createFeed } from '../../src/replication/feed.ts'
import { createTestDatabase } from '../support/database/test-database.ts'
import { schema } from '../support/deployment/deployment.ts'

/** Replicas that consist of a feed only, on a database that the test may change freely. */
export async function startFeeds(t: TestContext, count = 2) {
  const database = await createTestDatabase(schema)
  const owner = new pg.Client({ connectionString: database.url })
  await owner.connect()
  const tenant = newUuid() as TenantId
  await owner.query("insert into tenants (tenant_id, name, canary_salt) values ($1, 'feeds', '')", [tenant])
  await owner.query('insert into tenant_epochs (tenant_id) values ($1)', [tenant])

  const start = async () => {
    const db = connectDatabase(database.url, { max: 3, onError: () => {} })
    const clock = createClock()
    const changes = createChanges(db, clock.now)
    const warnings: string[] = []
    const feed = createFeed({ url: database.url, changes, clock, log: { warn: (_, text) => warnings.push(text) } })
    const told: Change[] = []
    const forgotten: (TenantId | undefined)[] = []
    changes.listen('values', {
      changed: (_, list) => void told.push(...list),
      forgotten: (which) => void forgotten.push(which),
    })
    await feed.start()
    told.length = 0
    forgotten.length = 0
    const record = (list: Change[]) => db.inTenant(tenant, (tx) => changes.record(tx, tenant, list))
    const stop = async () => {
      await feed.stop()
      await db.close()
    }
    return { db, changes, feed, clock, told, forgotten, warnings, record, stop }
  }
  const replicas = await Promise.all(Array.from({ length: count }, start))
  t.after(async () => {
    for (const r of replicas) await r.stop()
    await owner.end()
    await database.drop()
  })
  return { owner, tenant, replicas, url: database.url }
}
