import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { TenantId } from '../../../kernel/actor.ts'
import { createFresh } from './fresh.ts'
import { blockPlaces } from './words.queries.ts'

const tenants = ['a', 'b'] as unknown as TenantId[]
const at = (place: number) => new Date(1_700_000_000_000 + ((place * 7919) % 1000))
const eventAt = (place: number) => ({ record: `record ${place}`, at: at(place) })
const placed = (first: number, last: number) => ({
  last,
  events: Array.from({ length: last - first + 1 }, (_, i) => eventAt(first + i)),
})

test('a block is at hand where all of its places were given here in a row, and only then', () => {
  const report = fc.record({
    tenant: fc.nat(1),
    gap: fc.constantFrom(0, 0, 0, 0, 1, 900),
    count: fc.integer({ min: 1, max: 1500 }),
  })
  fc.assert(
    fc.property(fc.array(report, { maxLength: 30 }), (reports) => {
      const fresh = createFresh()
      const heads = tenants.map(() => ({ last: 0, since: 1, block: 0 }))
      for (const { tenant, gap, count } of reports) {
        const head = heads[tenant]!
        if (gap > 0) head.since = head.last + gap + 1
        fresh.add(tenants[tenant]!, placed(head.last + gap + 1, head.last + gap + count))
        head.last += gap + count
        for (; head.last >= (head.block + 1) * blockPlaces; head.block++) {
          const [first, last] = [head.block * blockPlaces + 1, (head.block + 1) * blockPlaces]
          const block = fresh.take(tenants[tenant]!, head.block)
          assert.equal(block !== undefined, head.since <= first, `block ${head.block}`)
          if (!block) continue
          const { events } = placed(first, last)
          const times = events.map((e) => e.at.toISOString()).sort()
          assert.deepEqual(block, {
            block: head.block,
            firstAt: times[0],
            lastAt: times.at(-1),
            records: events.map((e) => e.record),
          })
        }
      }
    }),
  )
})

test('what is at hand has an end: behind it all is read again', () => {
  const fresh = createFresh()
  const long = { record: 'x'.repeat(10_000), at: at(0) }
  fresh.add(tenants[0]!, placed(1, blockPlaces))
  fresh.add(tenants[1]!, { last: 839, events: Array.from({ length: 839 }, () => long) })
  assert.equal(fresh.take(tenants[0]!, 0), undefined)
  fresh.add(tenants[0]!, placed(1, blockPlaces))
  assert.equal(fresh.take(tenants[0]!, 0)?.records.length, blockPlaces)
})
