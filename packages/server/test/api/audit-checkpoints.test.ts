import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { generateKey, softwareSigner } from '@holdfast/crypto'
import type { KyselyPlugin } from 'kysely'
import type { Database, Tx } from '../../src/db/database.ts'
import { createCheckpoints } from '../../src/modules/audit/proof/checkpoints.ts'
import { createTiles } from '../../src/modules/audit/proof/tiles.ts'
import { fillRecord } from '../support/database/audit-log.ts'
import { type Kit, startKit, times } from '../support/deployment/deployment.ts'

const sizes = async ({ admin }: Pick<Kit, 'admin'>) =>
  (await admin.listAuditCheckpoints({ query: { limit: 200, sort: 'size' } })).items.map((c) => c.size)

test('who asks for proofs of what was just written, again and again, has few checkpoints made', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const clients = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
  const prove = async (i: number) => {
    await delay(i * 60)
    const [event] = (await clients[i % 2]!.listAuditEvents({ query: { limit: 1 } })).items
    return clients[i % 2]!.proveAuditEvent({ params: { event_id: event!.event_id } })
  }
  await prove(0)
  for (const { seq, checkpoint } of await times(10, prove)) assert.ok(checkpoint.size >= seq)
  const made = await sizes(kit)
  assert.ok(made.length <= 3, `${made}`)
})

test('nothing is wrong with a record of which another replica signs more while its end is looked for', async (t) => {
  const kit = await startKit(t)
  const signer = softwareSigner('audit-checkpoint', generateKey('Ed25519').privateJwk)
  let between = async (): Promise<void> => {}
  const watched: Database = {
    ...kit.db,
    inTenant: (tenant, work, patience) =>
      kit.db.inTenant(tenant, (tx) => work(tx.withPlugin(afterEach(() => between())) as Tx), patience),
  }
  const replica = (db: Database) =>
    createCheckpoints({
      db,
      now: () => new Date(),
      publicUrl: kit.publicUrl,
      catchUp: async () => {},
      tiles: createTiles({ db }),
      keys: { signer: async () => signer, published: async () => signer.publicJwk },
    })
  const other = replica(kit.db)
  await fillRecord(kit, 5)
  await other.make(kit.tenant)
  let times = 0
  between = async () => {
    if (times++ >= 3) return
    await fillRecord(kit, 1)
    await other.make(kit.tenant)
  }
  const made = await replica(watched).make(kit.tenant)
  assert.ok(times > 3)
  assert.deepEqual(made?.size, Math.max(...(await sizes(kit))))
})
const afterEach = (then: () => Promise<void>): KyselyPlugin => ({
  transformQuery: ({ node }) => node,
  transformResult: async ({ result }) => {
    await then()
    return result
  },
})
