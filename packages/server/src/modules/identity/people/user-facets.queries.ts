import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { type Chosen, chooseCandidates, countByFacet, type FacetRow, sampleTable } from '../../../db/facets.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import {
  allUserFilters,
  candidateUsers,
  hasFactor,
  isLockedOut,
  type UserFilter,
  userConditions,
} from './users-filter.queries.ts'

/** Returns the users to count, and the number of users that each of them represents. */
export const chooseUsers = async (tx: Tx, tenant: TenantId, f: UserFilter, isForFacets: boolean): Promise<Chosen> =>
  (await chooseCandidates(tx, candidateUsers(tenant, f), isForFacets)) ?? sampleTable(tx, tenant, 'users', 'user_id')

/** Selects those of the chosen users that match the filter. */
export const selectMatchingUsers = (tx: Tx, tenant: TenantId, f: UserFilter, { ids }: Chosen, at: Date) => {
  let q = tx
    .selectFrom('users')
    .select(['users.user_id', 'users.status', 'users.kind', 'users.source'])
    .select([hasFactor(tenant).as('mfa'), isLockedOut(at).as('locked')])
    .where('users.tenant_id', '=', tenant)
    .where(sql<boolean>`users.user_id = any(array(${ids}))`)
  for (const condition of userConditions(tenant, f, allUserFilters)) q = q.where(condition)
  return q
}

/** Counts the matching users, by facet and value. */
export function countUserFacets(
  tx: Tx,
  tenant: TenantId,
  f: UserFilter,
  { looked, at, mostValues }: { looked: Chosen; at: Date; mostValues: number },
): Promise<FacetRow[]> {
  const ofMatched = sql`tenant_id = ${tenant} and user_id = any(array(select user_id from matched))`
  const counted = sql`
    select s.facet, s.value, count(*) from matched m, lateral (values ('status', m.status), ('kind', m.kind),
        ('source', m.source), ('mfa', m.mfa::text), ('locked', m.locked::text)) as s (facet, value) group by 1, 2
    union all
    select 'role', role, count(*) from user_roles where ${ofMatched} group by role
    union all
    select 'group_id', group_id::text, count(*) from group_members where ${ofMatched} group by group_id`
  return countByFacet(tx, selectMatchingUsers(tx, tenant, f, looked, at), counted, mostValues)
}
