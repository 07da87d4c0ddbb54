import type { Database, Tx } from '../../../db/database.ts'
import { mapUniqueViolation } from '../../../db/unique-violation.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { type Differences, differences } from '../../../kernel/differences.ts'
import { encodeId, missing, newUuid } from '../../../kernel/ids.ts'
import type { ExpectedVersion } from '../../../kernel/version.ts'
import type { Changes } from '../../../replication/changes.ts'
import type { Audit } from '../../audit/index.ts'
import type { IdentityDeps } from '../deps.ts'
import type { GroupRow } from './groups.queries.ts'
import * as queries from './groups.queries.ts'
import { requireAll } from './references.ts'

/** `members` is the whole list; `add` and `remove` are changes to it. All are user ids. */
type GroupFields = {
  name?: string
  description?: string
  members?: string[]
  add?: string[]
  remove?: string[]
}
type Outcome = { changed: boolean; group: GroupRow }
/** Reason of a change, and the version that the caller expects. */
type With = { reason: string | undefined; expected: ExpectedVersion }
type Moved = { added: string[]; removed: string[] }
type Event = {
  operation: 'create' | 'update' | 'delete'
  reason: string | undefined
  moved: Moved
  changes: Differences
}

/** Maximum of ids listed in an event; more are only counted. */
const listedInEvent = 500
const unlessTaken = <T>(work: () => Promise<T>) =>
  mapUniqueViolation('group.name', 'group_name_is_unique_in_its_tenant', work)

export function createGroups(deps: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  rulesUsingGroup: IdentityDeps['rulesUsingGroup']
}) {
  const { db, audit, changes, now } = deps

  /** Last statements of every change: its event, then the change records for replicas. */
  async function record(tx: Tx, actor: Actor, group: GroupRow, { operation, reason, moved, changes: found }: Event) {
    const group_id = encodeId('group', group.group_id)
    const details = {
      ...(reason !== undefined && { reason }),
      ...membershipDetails('members_added', moved.added),
      ...membershipDetails('members_removed', moved.removed),
    }
    const target = { type: 'group', id: group_id, name: group.name }
    const more = { target, changes: found, ...(Object.keys(details).length > 0 && { details }) }
    await audit.record(tx, actor, 'group.changed', { operation, group_id }, more)
    // No replica caches names. Devices depend on ids, and only those of added and removed users change.
    const users = [...moved.added, ...moved.removed].map((subject) => ({ kind: 'user', subject }) as const)
    const deletedChange = operation === 'delete' ? [{ kind: 'group', subject: group.group_id } as const] : []
    if (users.length + deletedChange.length > 0) await changes.record(tx, actor.tenantId, [...deletedChange, ...users])
  }
  const read = async (tx: Tx, tenant: TenantId, id: string) =>
    (await queries.findGroup(tx, tenant, id)) ?? missing('group')

  return {
    find: (tenant: TenantId, id: string): Promise<GroupRow> => db.inTenant(tenant, (tx) => read(tx, tenant, id)),

    create: (
      actor: Actor,
      fieldsInput: GroupFields & { name: string },
      reason: string | undefined,
    ): Promise<Outcome> => {
      const { name, description = '', members } = fieldsInput
      const tenant = actor.tenantId
      const group_id = newUuid()
      return unlessTaken(() =>
        db.inTenant(tenant, async (tx) => {
          const at = now()
          await queries.insertGroup(tx, {
            tenant_id: tenant,
            group_id,
            name,
            description,
            created_at: at,
            updated_at: at,
          })
          const fields = members ? { members } : {}
          const moved = await moveMembers(tx, tenant, group_id, fields, await holdNamed(tx, tenant, fields), at)
          const made = await read(tx, tenant, group_id)
          await record(tx, actor, made, { operation: 'create', reason, moved, changes: {} })
          return { changed: true, group: made }
        }),
      )
    },

    update: (actor: Actor, id: string, fieldsInput: GroupFields, { reason, expected }: With): Promise<Outcome> => {
      const tenant = actor.tenantId
      const { members, add, remove, ...named } = fieldsInput
      return unlessTaken(() =>
        db.inTenant(tenant, async (tx) => {
          const known = await holdNamed(tx, tenant, fieldsInput)
          const before = (await queries.lockGroup(tx, tenant, id)) ?? missing('group')
          expected.require(before)
          const at = now()
          const moved = await moveMembers(tx, tenant, id, fieldsInput, known, at)
          const isNamedAnew = Object.keys(differences(before, { ...before, ...named })).length > 0
          if (!isNamedAnew && moved.added.length + moved.removed.length === 0)
            return { changed: false, group: await read(tx, tenant, id) }
          await queries.updateGroup(tx, tenant, id, { ...named, updated_at: at })
          const after = await read(tx, tenant, id)
          const found = differences(factsOf(before), factsOf(after))
          await record(tx, actor, after, { operation: 'update', reason, moved, changes: found })
          return { changed: true, group: after }
        }),
      )
    },

    remove: async (actor: Actor, id: string, { reason, expected }: With): Promise<Outcome> => {
      const tenant = actor.tenantId
      return db.inTenant(tenant, async (tx) => {
        const group = await queries.lockGroup(tx, tenant, id)
        if (!group) {
          const deleted = (await queries.findDeleted(tx, tenant, id)) ?? missing('group')
          expected.require(undefined)
          return { changed: false, group: deleted }
        }
        expected.require(group)
        const rules = await deps.rulesUsingGroup(tx, tenant, id)
        if (rules.length > 0) {
          const named = rules.slice(0, 10).join(', ')
          fail(
            'validation_error',
            `the published policy uses this group in ${named}: publish a policy without this group first`,
          )
        }
        const removed = await queries.listMembers(tx, tenant, id)
        await queries.removeGroup(tx, tenant, id)
        await queries.insertDeleted(tx, group, now())
        await record(tx, actor, group, { operation: 'delete', reason, moved: { added: [], removed }, changes: {} })
        return { changed: true, group }
      })
    },
  }
}
export type Groups = ReturnType<typeof createGroups>

/** Locks the named users, so that they exist until commit. Taken before the lock of the group. */
async function holdNamed(tx: Tx, tenant: TenantId, { members = [], add = [], remove = [] }: GroupFields) {
  const named = [...members, ...add, ...remove]
  return named.length === 0 ? new Set<string>() : queries.holdUsers(tx, tenant, named)
}

/**
 * Changes the members to the wanted ones. The rows of the group and of the `known` users are locked. Returns the added
 * and removed users.
 */
async function moveMembers(
  tx: Tx,
  tenant: TenantId,
  group: string,
  fieldsInput: GroupFields,
  known: ReadonlySet<string>,
  at: Date,
): Promise<Moved> {
  const { members, add = [], remove = [] } = fieldsInput
  const exist = async () => known
  await requireAll('user', 'group.members', members ?? [], exist)
  await requireAll('user', 'group.add_members', add, exist)
  await requireAll('user', 'group.remove_members', remove, exist)
  const toAdd = [...(members ?? []), ...add]
  const adding = new Set(toAdd)
  const both = remove.findIndex((user) => adding.has(user))
  if (both >= 0) failField(`group.remove_members[${both}]`, 'is also in add_members')
  const keep = new Set(members)
  const surplus = members ? (await queries.listMembers(tx, tenant, group)).filter((user) => !keep.has(user)) : []
  const pairs = (users: readonly string[]) => users.map((user) => ({ group, user }))
  const added = await queries.addMembers(tx, tenant, pairs(toAdd), at)
  const removed = await queries.removeMembers(tx, tenant, pairs([...remove, ...surplus]), at)
  return { added: added.map((p) => p.user), removed: removed.map((p) => p.user) }
}

const membershipDetails = (name: string, users: readonly string[]) =>
  users.length === 0
    ? {}
    : { [`${name}_count`]: users.length, [name]: users.slice(0, listedInEvent).map((id) => encodeId('user', id)) }

const factsOf = ({ name, description, member_count }: GroupRow) => ({ name, description, member_count })
