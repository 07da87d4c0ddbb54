import { consistencySpans, inclusionSpans, peekCheckpoint } from '@holdfast/crypto'
import type { Database } from '../../../db/database.ts'
import type { Pager } from '../../../db/page.ts'
import type { Handlers } from '../../../http/handlers.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { encodeId, idOf, missing } from '../../../kernel/ids.ts'
import type { Checkpoints } from './checkpoints.ts'
import * as queries from './proof.queries.ts'
import type { Tiles } from './tiles.ts'

type Deps = {
  db: Database
  pager: Pager
  catchUp: (tenant: TenantId) => Promise<void>
  checkpoints: Checkpoints
  tiles: Tiles
}
export const proofHandlers = ({ db, pager, catchUp, checkpoints, tiles }: Deps) =>
  ({
    listAuditCheckpoints: async ({ actor: { tenantId: tenant }, query }) => {
      const descending = (query.sort ?? '-size') === '-size'
      const { items, next_cursor } = await pager.gather<queries.CheckpointRow>(
        { operation: 'listAuditCheckpoints', tenant, query },
        async (place, most) => {
          const after = place && Number(place[0])
          const listQuery = { after, descending, most }
          return { found: await db.inTenant(tenant, (tx) => queries.checkpointsAfter(tx, tenant, listQuery)) }
        },
        ({ size }) => [String(size), ''],
      )
      return { items: items.map(viewCheckpoint), next_cursor }
    },

    proveAuditConsistency: async ({ actor: { tenantId: tenant }, query: { from, to } }) => {
      if (from > to) fail('bad_request', 'from: must not be greater than to')
      const { size } = (await db.inTenant(tenant, (tx) => queries.newestCheckpoint(tx, tenant))) ?? { size: 0 }
      if (to > size) fail('bad_request', `to: must not be greater than ${size}, the size of the newest checkpoint`)
      return { from, to, proof: (await tiles.hashesOf(tenant, consistencySpans(from, to))).map(hex) }
    },

    proveAuditEvent: async ({ actor: { tenantId: tenant }, params }) => {
      const id = idOf('audit_event', params.event_id)
      await catchUp(tenant)
      const found = await db.inTenant(tenant, (tx) => queries.findProvenEvent(tx, tenant, id))
      const { seq, hash } = found ?? missing('audit_event')
      const checkpoint = await checkpoints.reaching(tenant, seq)
      return {
        event_id: encodeId('audit_event', id),
        seq,
        hash: hex(hash),
        previous_hash: hex(await tiles.entryAt(tenant, seq - 1)),
        proof: (await tiles.hashesOf(tenant, inclusionSpans(seq - 1, checkpoint.size))).map(hex),
        checkpoint: viewCheckpoint(checkpoint),
      }
    },
  }) satisfies Partial<Handlers>

const hex = (hash: Buffer) => hash.toString('hex')
const viewCheckpoint = ({ size, kid, note, created_at }: queries.CheckpointRow) => ({
  size,
  root: hex(peekCheckpoint(note).root),
  kid,
  note,
  created_at: created_at.toISOString(),
})
