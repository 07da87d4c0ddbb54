import { deviceFacets, mostFacetValues } from '@holdfast/contract/facets'
import type { Database, Tx } from '../../db/database.ts'
import { countRows, createCounts, totalOf, viewFacets } from '../../db/facets.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Looked } from './facets.queries.ts'
import * as queries from './facets.queries.ts'
import { findCandidates, type Judged } from './filter.queries.ts'
import type { GivenFilter } from './read-filter.ts'

/** So many addresses are drawn where a filter may fit more devices than are counted. */
const drawn = 5000

/**
 * One address of each of `most` equal parts of the numbers up to `highest`, the same ones each time: an estimate then
 * moves only with the fleet. Numbers of addresses have nothing to do with what a device is.
 */
export function drawAddresses(highest: number, most = drawn): number[] {
  const parts = Math.min(most, highest)
  return Array.from({ length: parts }, (_, i) => {
    // A multiplicative hash of the part, in [0, 1): no step that a batch of devices could be in time with.
    const jitter = (Math.imul(i + 1, 0x9e3779b1) >>> 0) / 2 ** 32
    return 1 + Math.floor(((i + jitter) * highest) / parts)
  })
}

/** How many devices a filter fits: exact up to 10,000, else estimated from devices that are drawn. */
export function createDeviceFacets({
  db,
  now,
  judge,
}: {
  db: Database
  now: () => Date
  judge: (tenant: TenantId, given: GivenFilter) => Promise<Judged>
}) {
  /** The devices to look at, and the number of devices that each of them stands for. */
  async function choose(tx: Tx, tenant: TenantId, judged: Judged): Promise<{ looked: Looked; each: number }> {
    const candidates = await findCandidates(tx, tenant, judged)
    if (candidates) return { looked: { candidates }, each: 1 }
    const highest = await queries.highestAddress(tx, tenant)
    const addresses = drawAddresses(highest)
    return { looked: { addresses }, each: highest / addresses.length }
  }

  return {
    total: createCounts(async (tenant, given: GivenFilter) => {
      const judged = await judge(tenant, given)
      return db.inTenant(tenant, async (tx) => {
        const { looked, each } = await choose(tx, tenant, judged)
        return totalOf(await countRows(tx, queries.selectMatching(tx, tenant, judged, looked)), each)
      })
    }, now),
    facets: createCounts(async (tenant, given: GivenFilter) => {
      const judged = await judge(tenant, given)
      return db.inTenant(tenant, async (tx) => {
        const { looked, each } = await choose(tx, tenant, judged)
        const rows = await queries.countFacets(tx, tenant, judged, looked, mostFacetValues)
        return viewFacets(tx, tenant, deviceFacets, { rows, each, at: judged.at })
      })
    }, now),
  }
}
