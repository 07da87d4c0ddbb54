import type { Database, Tx } from '../../../db/database.ts'
import { refuseTaken } from '../../../db/taken.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { decodeId, encodeId, newUuid } from '../../../kernel/ids.ts'
import type { Changes } from '../../../memory/changes.ts'
import type { Audit, Changed } from '../../audit/index.ts'
import type { GroupRow } from './groups.queries.ts'
import * as queries from './groups.queries.ts'
import { resolveIds } from './references.ts'

export type GroupFields = {
  name?: string
  description?: string
  members?: string[]
  add_members?: string[]
  remove_members?: string[]
}
export type GroupOperation = 'create' | 'update' | 'delete'
export type GroupRequest = { operation: GroupOperation; group_id?: string; group?: GroupFields; reason?: string }
type Outcome = { changed: boolean; group: GroupRow }
type Moved = { added: string[]; removed: string[] }

/** More ids than this are counted in the event, not listed. */
const listedInEvent = 500

export function createGroups(deps: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  rulesUsingGroup: (tenant: TenantId, groupId: string) => Promise<readonly string[]>
}) {
  const { db, audit, changes, now } = deps

  /** The last statements of every change: its event, then what replicas must look at again. */
  async function settle(tx: Tx, actor: Actor, request: GroupRequest, group: GroupRow, moved: Moved, changed: Changed) {
    const group_id = encodeId('group', group.group_id)
    const details = {
      ...(request.reason !== undefined && { reason: request.reason }),
      ...membershipDetails('members_added', moved.added),
      ...membershipDetails('members_removed', moved.removed),
    }
    await audit.record(
      tx,
      actor,
      'group.changed',
      { operation: request.operation, group_id },
      {
        target: { type: 'group', id: group_id, name: group.name },
        changes: changed,
        ...(Object.keys(details).length > 0 && { details }),
      },
    )
    await changes.record(tx, actor.tenantId, [
      { kind: 'group', subject: group.group_id },
      ...[...moved.added, ...moved.removed].map((subject) => ({ kind: 'user', subject }) as const),
    ])
  }
  const read = async (tx: Tx, tenant: TenantId, id: string) => (await queries.findGroup(tx, tenant, id)) ?? missing()

  async function create(actor: Actor, request: GroupRequest): Promise<Outcome> {
    if (request.group_id !== undefined) failField('group_id', 'is given by the server when a group is created')
    const name = request.group?.name ?? failField('group.name', 'is required to create a group')
    const { description = '', members, add_members, remove_members } = request.group ?? {}
    if (add_members ?? remove_members) failField('group', 'takes the members of a new group as members')
    const tenant = actor.tenantId
    return db.inTenant(tenant, async (tx) => {
      const at = now()
      const row = { tenant_id: tenant, group_id: newUuid(), name, description, created_at: at, updated_at: at }
      if (!(await queries.insertGroup(tx, row))) failField('group.name', 'is already taken')
      const moved = await moveMembers(tx, tenant, row.group_id, members ? { members } : {})
      const made = await read(tx, tenant, row.group_id)
      await settle(tx, actor, request, made, moved, {})
      return { changed: true, group: made }
    })
  }

  async function update(actor: Actor, request: GroupRequest, id: string): Promise<Outcome> {
    const wanted = request.group ?? failField('group', 'is required to update a group')
    if (wanted.members && (wanted.add_members ?? wanted.remove_members))
      failField('group.members', 'is the whole list; it does not go together with add_members or remove_members')
    const tenant = actor.tenantId
    return refuseTaken('group.name', 'group_name_is_unique_in_its_tenant', () =>
      db.inTenant(tenant, async (tx) => {
        const before = (await queries.lockGroup(tx, tenant, id)) ?? missing()
        const moved = await moveMembers(tx, tenant, id, wanted)
        const fields = changedFields(before, wanted)
        if (Object.keys(fields).length + moved.added.length + moved.removed.length === 0)
          return { changed: false, group: await read(tx, tenant, id) }
        await queries.updateGroup(tx, tenant, id, { ...fields, updated_at: now() })
        const after = await read(tx, tenant, id)
        await settle(tx, actor, request, after, moved, differences(before, after))
        return { changed: true, group: after }
      }),
    )
  }

  async function remove(actor: Actor, request: GroupRequest, id: string): Promise<Outcome> {
    if (request.group !== undefined) failField('group', 'has no meaning with delete')
    const tenant = actor.tenantId
    const rules = await deps.rulesUsingGroup(tenant, id)
    if (rules.length > 0) {
      const named = rules.slice(0, 10).join(', ')
      fail('validation_error', `the published policy names this group in ${named}; publish a policy without it first`)
    }
    return db.inTenant(tenant, async (tx) => {
      const group = (await queries.lockGroup(tx, tenant, id)) ?? missing()
      const removed = await queries.listMembers(tx, tenant, id)
      if (!(await queries.removeGroup(tx, tenant, id))) missing()
      await settle(tx, actor, request, group, { added: [], removed }, {})
      return { changed: true, group }
    })
  }

  return {
    find: async (tenant: TenantId, wireId: string): Promise<GroupRow> => {
      const id = decodeId('group', wireId)
      return (id && (await db.inTenant(tenant, (tx) => queries.findGroup(tx, tenant, id)))) || missing()
    },

    change: async (actor: Actor, request: GroupRequest): Promise<Outcome> => {
      if (request.operation === 'create') return create(actor, request)
      const wireId = request.group_id ?? failField('group_id', `is required to ${request.operation} a group`)
      const id = decodeId('group', wireId) ?? missing()
      return request.operation === 'update' ? update(actor, request, id) : remove(actor, request, id)
    },
  }
}

function missing(): never {
  return fail('not_found', 'no such group')
}

/** Brings the members to what is wanted; the group's row is locked. Returns who came and who went. */
async function moveMembers(tx: Tx, tenant: TenantId, group: string, wanted: GroupFields): Promise<Moved> {
  const resolve = (field: 'members' | 'add_members' | 'remove_members') =>
    resolveIds('user', `group.${field}`, wanted[field] ?? [], (ids) => queries.holdUsers(tx, tenant, ids))
  const pairs = (users: readonly string[]) => users.map((user) => ({ group, user }))
  const members = await resolve('members')
  const toAdd = [...members, ...(await resolve('add_members'))]
  const toRemove = await resolve('remove_members')
  const adding = new Set(toAdd)
  const both = toRemove.findIndex((user) => adding.has(user))
  if (both >= 0) failField(`group.remove_members[${both}]`, 'is also in add_members')
  if (wanted.members) {
    const keep = new Set(members)
    for (const user of await queries.listMembers(tx, tenant, group)) if (!keep.has(user)) toRemove.push(user)
  }
  const added = await queries.addMembers(tx, tenant, pairs(toAdd))
  const removed = await queries.removeMembers(tx, tenant, pairs(toRemove))
  return { added: added.map((p) => p.user), removed: removed.map((p) => p.user) }
}

const membershipDetails = (name: string, users: readonly string[]) =>
  users.length === 0
    ? {}
    : { [`${name}_count`]: users.length, [name]: users.slice(0, listedInEvent).map((id) => encodeId('user', id)) }

const changedFields = (before: GroupRow, { name, description }: GroupFields) => ({
  ...(name !== undefined && name !== before.name && { name }),
  ...(description !== undefined && description !== before.description && { description }),
})

function differences(before: GroupRow, after: GroupRow): Changed {
  const found: Record<string, [unknown, unknown]> = {}
  for (const field of ['name', 'description', 'member_count'] as const)
    if (before[field] !== after[field]) found[field] = [before[field], after[field]]
  return found
}
