import type { Contract, Given } from '@holdfast/contract'
import { mostFacetValues, userFacets } from '@holdfast/contract/facets'
import type { Database } from '../../../db/database.ts'
import { countRows, createCounts, totalOf, viewFacets } from '../../../db/facets.ts'
import { idOf } from '../../../kernel/ids.ts'
import * as queries from './user-facets.queries.ts'
import type { UserFilter } from './users-filter.queries.ts'

type GivenFilter = Given<Contract['listUserFacets']>['query']

export const readUserFilter = (filterInput: GivenFilter, at: Date): UserFilter => {
  const { q, kind, status, source, role, mfa, locked, has_devices, group_id } = filterInput
  return {
    ...(q !== undefined && { prefix: q }),
    ...(kind && { kind }),
    ...(status && { status }),
    ...(source && { source }),
    ...(role && { role }),
    ...(mfa !== undefined && { mfa }),
    ...(locked !== undefined && { locked: { is: locked, at } }),
    ...(has_devices !== undefined && { hasDevices: has_devices }),
    ...(group_id !== undefined && { group: idOf('group', group_id) }),
  }
}

/** Counts of users that match a filter: exact if few match, else estimated from a sample of the table. */
export const createUserFacets = ({ db, now }: { db: Database; now: () => Date }) => ({
  total: createCounts((tenant, filterInput: GivenFilter) => {
    const at = now()
    const filter = readUserFilter(filterInput, at)
    return db.inTenant(tenant, async (tx) => {
      const looked = await queries.chooseUsers(tx, tenant, filter, false)
      return totalOf(await countRows(tx, queries.selectMatchingUsers(tx, tenant, filter, looked, at)), looked.each)
    })
  }, now),
  facets: createCounts((tenant, filterInput: GivenFilter) => {
    const at = now()
    const filter = readUserFilter(filterInput, at)
    return db.inTenant(tenant, async (tx) => {
      const looked = await queries.chooseUsers(tx, tenant, filter, true)
      const rows = await queries.countUserFacets(tx, tenant, filter, { looked, at, mostValues: mostFacetValues })
      return viewFacets(tx, tenant, userFacets, { rows, each: looked.each, at })
    })
  }, now),
})
