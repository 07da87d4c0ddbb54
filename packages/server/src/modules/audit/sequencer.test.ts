import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { createSequencer } from './sequencer.ts'

const [one, other] = ['1', '2'] as unknown as [TenantId, TenantId]

test('concurrent readers share a sequencing run, and a reader during a run gets the next one', async () => {
  const steps: { tenant: TenantId; place: PromiseWithResolvers<number> }[] = []
  const inTenant = (tenant: TenantId) => {
    const place = Promise.withResolvers<number>()
    steps.push({ tenant, place })
    return place.promise
  }
  const { catchUp } = createSequencer({
    db: { inTenant } as unknown as Database,
    onError: assert.ifError,
    placed: () => {},
  })
  const first = catchUp(one)
  const later = Array.from({ length: 20 }, () => catchUp(one))
  const elsewhere = catchUp(other)
  assert.deepEqual(
    steps.map((s) => s.tenant),
    [one, other],
  )
  steps[0]!.place.reject(new Error('unavailable'))
  await assert.rejects(first, /unavailable/)
  await new Promise(setImmediate)
  assert.equal(steps.length, 3, 'the twenty share one look, which begins after the first')
  for (const step of steps.slice(1)) step.place.resolve(0)
  await Promise.all([...later, elsewhere])
  const next = catchUp(one)
  assert.equal(steps.length, 4, 'nothing is kept of a look that is over')
  steps[3]!.place.resolve(0)
  await next
})
