import { deviceFacets, mostFacetValues } from '@holdfast/contract/facets'
import type { Database, Tx } from '../../db/database.ts'
import { chooseCandidates, countRows, createCounts, sampleTable, totalOf, viewFacets } from '../../db/facets.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Examined } from './facets.queries.ts'
import * as queries from './facets.queries.ts'
import { candidateDevices, type DeviceFilterQuery } from './filter.queries.ts'
import type { GivenFilter } from './read-filter.ts'

/** Number of addresses sampled if a filter may match more devices than are counted exactly. */
const sampleSize = 2500
/** Most devices that are examined for the sampled addresses. Revoked devices of one address can be many. */
const mostOfAddresses = 4 * sampleSize

/**
 * Picks one address number from each of `most` equal parts of the numbers up to `highest`. The choice is always the
 * same, so that an estimate changes only with the fleet. Address numbers are unrelated to the properties of devices.
 */
export function drawAddresses(highest: number, most = sampleSize): number[] {
  const parts = Math.min(most, highest)
  return Array.from({ length: parts }, (_, i) => {
    // Multiplicative hash of the part, in [0, 1). A fixed step could coincide with a batch of similar devices.
    const jitter = (Math.imul(i + 1, 0x9e3779b1) >>> 0) / 2 ** 32
    return 1 + Math.floor(((i + jitter) * highest) / parts)
  })
}

/** Counts of devices that match a filter: exact if few match, else estimated from a sample. */
export function createDeviceFacets({
  db,
  now,
  judge,
}: {
  db: Database
  now: () => Date
  judge: (tenant: TenantId, filterInput: GivenFilter) => Promise<DeviceFilterQuery>
}) {
  /**
   * Chooses the devices to examine, and the number of devices that each of them represents. Facets examine fewer, since
   * they read several tables.
   */
  async function choose(
    tx: Tx,
    tenant: TenantId,
    deviceFilter: DeviceFilterQuery,
    isForFacets: boolean,
  ): Promise<{ examined: Examined; each: number }> {
    const chosen = await chooseCandidates(tx, candidateDevices(tenant, deviceFilter), isForFacets)
    if (chosen) return { examined: queries.withIdsOf(chosen.ids), each: chosen.each }
    const highest = await queries.highestAddress(tx, tenant)
    const addresses = drawAddresses(highest)
    if (await queries.areFewWithAddresses(tx, tenant, addresses, mostOfAddresses))
      return { examined: queries.withAddresses(addresses), each: highest / addresses.length }
    const { ids, each } = await sampleTable(tx, tenant, 'devices', 'device_id')
    return { examined: queries.withIdsOf(ids), each }
  }

  return {
    total: createCounts(async (tenant, filterInput: GivenFilter) => {
      const deviceFilter = await judge(tenant, filterInput)
      return db.inTenant(tenant, async (tx) => {
        const { examined, each } = await choose(tx, tenant, deviceFilter, false)
        return totalOf(await countRows(tx, queries.selectMatchingDevices(tenant, deviceFilter, examined)), each)
      })
    }, now),
    facets: createCounts(async (tenant, filterInput: GivenFilter) => {
      const deviceFilter = await judge(tenant, filterInput)
      return db.inTenant(tenant, async (tx) => {
        const { examined, each } = await choose(tx, tenant, deviceFilter, true)
        const rows = await queries.countDeviceFacets(tx, tenant, deviceFilter, examined, mostFacetValues)
        return viewFacets(tx, tenant, deviceFacets, { rows, each, at: deviceFilter.at })
      })
    }, now),
  }
}
