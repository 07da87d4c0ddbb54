import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { countedExactly } from '../../../db/facets.ts'
import { few, fits as fitsUpTo, hasPrefix, isRare } from '../../../db/page.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export type UserFilter = {
  kind?: 'person' | 'service'
  prefix?: string | undefined
  status?: 'active' | 'suspended'
  source?: 'local' | 'directory' | 'sso'
  role?: string
  mfa?: boolean
  group?: string
  /** Matches users by whether they are locked at a time. */
  locked?: { is: boolean; at: Date }
  hasDevices?: boolean
}
/** Selects the matching users from the filter's own index, at most one more than `most`. */
const fittingUpTo = (most: number) => {
  const fits = (column: string, from: ReturnType<typeof sql>, inIndexOrder: readonly string[]) =>
    fitsUpTo(column, from, inIndexOrder, most)
  return {
    prefix: (tenant: TenantId, prefix: string) =>
      sql.join(
        keyColumns.map((c) =>
          fits('user_id', sql`users where tenant_id = ${tenant} and ${hasPrefix(c, prefix)}`, ['tenant_id', c]),
        ),
        sql` union all `,
      ),
    role: (tenant: TenantId, role: string) =>
      fits('user_id', sql`user_roles where tenant_id = ${tenant} and role = ${role}`, [
        'tenant_id',
        'role',
        'granted_at',
      ]),
    group: (tenant: TenantId, group: string) =>
      fits('user_id', sql`group_members where tenant_id = ${tenant} and group_id = ${group}::uuid`, [
        'tenant_id',
        'group_id',
        'user_id',
      ]),
  }
}
const fitting = fittingUpTo(few)
const keyColumns = ['username_key', 'email_key', 'display_name_key'] as const
export const searchedFields = ['prefix', 'role', 'group'] as const
/** Filters with so many matches that a walk in the list's order finds a page sooner than their index. */
export type DenseUserFilters = ReadonlySet<(typeof searchedFields)[number]>
export async function denseUserFilters(tx: Tx, tenant: TenantId, f: UserFilter): Promise<DenseUserFilters> {
  const dense = new Set<(typeof searchedFields)[number]>()
  for (const name of searchedFields) {
    const value = f[name]
    if (value !== undefined && !(await isRare(tx, fitting[name](tenant, value)))) dense.add(name)
  }
  return dense
}

/** Returns the conditions of a filter. `offset 0` makes the planner check a condition user by user. */
export function userConditions(tenant: TenantId, f: UserFilter, dense: DenseUserFilters) {
  const all: ReturnType<typeof sql<boolean>>[] = [sql`users.deleted_at is null`]
  for (const name of plain) if (f[name]) all.push(sql`${sql.ref(`users.${name}`)} = ${f[name]}`)
  if (f.mfa !== undefined) all.push(sql`${hasFactor(tenant)} = ${f.mfa}`)
  if (f.locked) all.push(sql`${isLockedOut(f.locked.at)} = ${f.locked.is}`)
  if (f.locked?.is) all.push(sql`users.locked_until > ${f.locked.at}`)
  if (f.hasDevices !== undefined)
    all.push(sql`exists (select from devices d where d.tenant_id = ${tenant}
      and d.user_id = users.user_id and d.status <> 'revoked' offset 0) = ${f.hasDevices}`)
  for (const name of searchedFields) {
    const value = f[name]
    if (value !== undefined && !dense.has(name))
      all.push(sql`users.user_id = any(array(${fitting[name](tenant, value)}))`)
  }
  if (f.role !== undefined && dense.has('role'))
    all.push(sql`exists (select from user_roles r where r.tenant_id = ${tenant}
      and r.user_id = users.user_id and r.role = ${f.role} offset 0)`)
  if (f.prefix !== undefined && dense.has('prefix')) {
    const prefix = f.prefix
    all.push(
      sql`(${sql.join(
        keyColumns.map((c) => hasPrefix(`users.${c}`, prefix)),
        sql` or `,
      )})`,
    )
  }
  if (f.group !== undefined && dense.has('group'))
    all.push(sql`exists (select from group_members m where m.tenant_id = ${tenant}
      and m.group_id = ${f.group}::uuid and m.user_id = users.user_id offset 0)`)
  return all
}
const plain = ['kind', 'status', 'source'] as const
export const hasFactor = (tenant: TenantId) => sql<boolean>`exists (select from user_totp t
  where t.tenant_id = ${tenant} and t.user_id = users.user_id and t.enrolled_at is not null offset 0)`
export const isLockedOut = (at: Date) => sql<boolean>`coalesce(users.locked_until > ${at}, false)`

const fittingToCount = fittingUpTo(countedExactly)
/** Sets of user ids, each of which contains all matches of a filter, at most one more than are counted exactly. */
export function candidateUsers(tenant: TenantId, f: UserFilter) {
  const from = (which: ReturnType<typeof sql>, ...order: string[]) =>
    fitsUpTo('user_id', sql`users where tenant_id = ${tenant} and ${which}`, ['tenant_id', ...order], countedExactly)
  return [
    ...(f.locked?.is ? [from(sql`locked_until > ${f.locked.at}`, 'locked_until')] : []),
    ...plain.filter((name) => f[name]).map((name) => from(sql`${sql.ref(name)} = ${f[name]}`, name, 'created_at')),
    ...searchedFields.flatMap((name) => {
      const value = f[name]
      return value === undefined ? [] : [fittingToCount[name](tenant, value)]
    }),
    from(sql`true`, 'created_at'),
  ]
}
/** Checks all conditions user by user. */
export const allUserFilters: DenseUserFilters = new Set(searchedFields)
