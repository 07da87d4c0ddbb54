import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { countByFacet, type FacetRow } from '../../../db/facets.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import {
  allUserFilters,
  findCandidateUsers,
  hasFactor,
  isLockedOut,
  type UserFilter,
  userConditions,
} from './users-filter.queries.ts'

type Looked = { ids: ReturnType<typeof sql>; each: number }

/** Number of sampled rows if a filter may match more users than are counted exactly. */
const sampled = 8_000

/** Returns the users to count, and the number of users that each of them represents. */
export async function chooseUsers(tx: Tx, tenant: TenantId, f: UserFilter): Promise<Looked> {
  const candidates = await findCandidateUsers(tx, tenant, f)
  if (candidates) return { ids: candidates, each: 1 }
  const { rows } = await sql<{ n: number }>`
    select greatest(reltuples, 1)::float8 as n from pg_class where oid = 'users'::regclass`.execute(tx)
  const share = Math.min(1, sampled / (rows[0]?.n ?? 1))
  // Samples the same pages each time, so that an estimate changes only with the users.
  const ids = sql`select user_id from users tablesample system (${share * 100}::float8) repeatable (1)
    where tenant_id = ${tenant}`
  return { ids, each: 1 / share }
}

/** Selects those of the chosen users that match the filter. */
export const selectMatchingUsers = (tx: Tx, tenant: TenantId, f: UserFilter, { ids }: Looked, at: Date) => {
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
  { looked, at, mostValues }: { looked: Looked; at: Date; mostValues: number },
): Promise<FacetRow[]> {
  const counted = sql`
    select s.facet, s.value, count(*) from matched m, lateral (values ('status', m.status), ('kind', m.kind),
        ('source', m.source), ('mfa', m.mfa::text), ('locked', m.locked::text)) as s (facet, value) group by 1, 2
    union all
    select 'role', r.role, count(*) from matched m
      join user_roles r on r.tenant_id = ${tenant} and r.user_id = m.user_id group by r.role
    union all
    select 'group_id', g.group_id::text, count(*) from matched m
      join group_members g on g.tenant_id = ${tenant} and g.user_id = m.user_id group by g.group_id`
  return countByFacet(tx, selectMatchingUsers(tx, tenant, f, looked, at), counted, mostValues)
}
