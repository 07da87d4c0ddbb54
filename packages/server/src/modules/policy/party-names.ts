import type { Database } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import { namesOfParties } from './directory.queries.ts'
import type { FoundParties } from './party-count.ts'

export type NamedParties = ReturnType<typeof named>

/** Returns the same parties in their API form, with names that one transaction reads. */
export async function nameParties(
  db: Database,
  tenant: TenantId,
  found: readonly FoundParties[],
): Promise<NamedParties[]> {
  const users = found.flatMap((f) => f.users.map((u) => u.id))
  const groups = found.flatMap((f) => f.groups.map((g) => g.id))
  const names = await db.inTenant(tenant, (tx) => namesOfParties(tx, tenant, { users, groups, devices: [] }))
  return found.map((f) => named(f, names))
}

type Names = Awaited<ReturnType<typeof namesOfParties>>
const named = ({ counts, users, groups }: FoundParties, names: Names) => ({
  counts,
  users: users.map(({ id, devices, rules }) => ({
    user_id: encodeId('user', id),
    username: names.get(id) ?? null,
    devices,
    rule_ids: rules,
  })),
  groups: groups.map(({ id, users: members, devices, examined, rules }) => ({
    group_id: encodeId('group', id),
    name: names.get(id) ?? null,
    users: members,
    devices,
    devices_examined: examined,
    rule_ids: rules,
  })),
})
