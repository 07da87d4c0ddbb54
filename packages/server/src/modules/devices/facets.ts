import { deviceFacets, mostFacetValues } from '@holdfast/contract/facets'
import type { Database, Tx } from '../../db/database.ts'
import { countRows, createCounts, totalOf, viewFacets } from '../../db/facets.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Looked } from './facets.queries.ts'
import * as queries from './facets.queries.ts'
import { type DeviceFilterQuery, findCandidateDevices } from './filter.queries.ts'
import type { GivenFilter } from './read-filter.ts'

/** Number of addresses sampled if a filter may match more devices than are counted exactly. */
const drawn = 5000

/**
 * Picks one address number from each of `most` equal parts of the numbers up to `highest`. The choice is always the
 * same, so that an estimate changes only with the fleet. Address numbers are unrelated to the properties of devices.
 */
export function drawAddresses(highest: number, most = drawn): number[] {
  const parts = Math.min(most, highest)
  return Array.from({ length: parts }, (_, i) => {
    // Multiplicative hash of the part, in [0, 1). A fixed step could coincide with a batch of similar devices.
    const jitter = (Math.imul(i + 1, 0x9e3779b1) >>> 0) / 2 ** 32
    return 1 + Math.floor(((i + jitter) * highest) / parts)
  })
}

/** Number of devices that match a filter: exact up to 10,000, else estimated from a sample. */
export function createDeviceFacets({
  db,
  now,
  judge,
}: {
  db: Database
  now: () => Date
  judge: (tenant: TenantId, given: GivenFilter) => Promise<DeviceFilterQuery>
}) {
  /** Chooses the devices to examine, and the number of devices that each of them represents. */
  async function choose(
    tx: Tx,
    tenant: TenantId,
    judged: DeviceFilterQuery,
  ): Promise<{ looked: Looked; each: number }> {
    const candidates = await findCandidateDevices(tx, tenant, judged)
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
        return totalOf(await countRows(tx, queries.selectMatchingDevices(tx, tenant, judged, looked)), each)
      })
    }, now),
    facets: createCounts(async (tenant, given: GivenFilter) => {
      const judged = await judge(tenant, given)
      return db.inTenant(tenant, async (tx) => {
        const { looked, each } = await choose(tx, tenant, judged)
        const rows = await queries.countDeviceFacets(tx, tenant, judged, looked, mostFacetValues)
        return viewFacets(tx, tenant, deviceFacets, { rows, each, at: judged.at })
      })
    }, now),
  }
}
