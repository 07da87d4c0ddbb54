import type { Role } from '@holdfast/contract/vocabulary'
import type { PasswordHasher } from '@holdfast/crypto'
import type { Database, Tx } from '../../../db/database.ts'
import { refuseTaken } from '../../../db/taken.ts'
import { type Actor, jobSource, type TenantId } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { decodeId, encodeId, newUuid } from '../../../kernel/ids.ts'
import type { Change, Changes } from '../../../memory/changes.ts'
import type { Audit, Changed } from '../../audit/index.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { addMembers, holdGroups, removeMembers } from './groups.queries.ts'
import { resolveIds } from './references.ts'
import { missingUser, refuseStronger } from './subject.ts'
import type { UserRow } from './users.queries.ts'
import * as queries from './users.queries.ts'

export type UserFields = { username?: string; email?: string | null; display_name?: string; group_ids?: string[] }
export type UserOperation = 'create' | 'update' | 'suspend' | 'reactivate' | 'unlock' | 'delete'
export type UserRequest = { operation: UserOperation; user_id?: string; user?: UserFields; reason?: string }
/** `terminated` counts the admin and VPN sessions that ended with it. */
type Outcome = { changed: boolean; user: UserRow; terminated: number }
export type EndSessionsOf = (
  tx: Tx,
  tenant: TenantId,
  which: { userIds: readonly string[]; reason: string },
) => Promise<number>

type Move = Exclude<UserOperation, 'create' | 'update'>
const moves: Record<Move, (tx: Tx, tenant: TenantId, id: string, at: Date) => Promise<boolean>> = {
  suspend: (tx, tenant, id, at) => queries.moveStatus(tx, tenant, id, 'suspended', at),
  reactivate: (tx, tenant, id, at) => queries.moveStatus(tx, tenant, id, 'active', at),
  unlock: queries.unlock,
  delete: queries.entomb,
}

/** A tenant must keep somebody who can administer it, the deployment somebody who can administer tenants. */
const indispensable = ['platform_admin', 'tenant_admin']

export function createUsers(deps: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  passwords: PasswordHasher
  sessions: Pick<Sessions, 'endOfUser'>
  endSessionsOf: EndSessionsOf
}) {
  const { db, audit, changes, now, passwords, sessions } = deps

  /** The last statements of every change: its event, then what replicas must look at again. */
  async function settle(
    tx: Tx,
    actor: Actor,
    request: UserRequest,
    user: UserRow,
    more: { changes?: Changed; also?: Change[] },
  ) {
    const user_id = encodeId('user', user.user_id)
    await audit.record(
      tx,
      actor,
      'user.changed',
      { operation: request.operation, user_id },
      {
        target: { type: 'user', id: user_id, name: user.username },
        ...(more.changes && { changes: more.changes }),
        ...(request.reason !== undefined && { details: { reason: request.reason } }),
      },
    )
    await changes.record(tx, actor.tenantId, [{ kind: 'user', subject: user.user_id }, ...(more.also ?? [])])
  }
  const read = async (tx: Tx, tenant: TenantId, id: string) => (await queries.findUser(tx, tenant, id)) ?? missingUser()
  const groupsNamed = (tx: Tx, tenant: TenantId, wire: readonly string[] | undefined) =>
    resolveIds('group', 'user.group_ids', wire ?? [], (ids) => holdGroups(tx, tenant, ids))

  async function create(actor: Actor, request: UserRequest): Promise<Outcome> {
    if (request.user_id !== undefined) failField('user_id', 'is given by the server when a user is created')
    const username = request.user?.username ?? failField('user.username', 'is required to create a user')
    const tenant = actor.tenantId
    const id = newUuid()
    return db.inTenant(tenant, async (tx) => {
      const groups = await groupsNamed(tx, tenant, request.user?.group_ids)
      const at = now()
      const { email = null, display_name = '' } = request.user ?? {}
      const user = { tenant_id: tenant, user_id: id, username, email, display_name, created_at: at, updated_at: at }
      if (!(await queries.insertUser(tx, user))) failField('user.username', 'is already taken')
      await addMembers(
        tx,
        tenant,
        groups.map((group) => ({ group, user: id })),
      )
      const made = await read(tx, tenant, id)
      await settle(tx, actor, request, made, {})
      return { changed: true, user: made, terminated: 0 }
    })
  }

  async function update(actor: Actor, request: UserRequest, id: string): Promise<Outcome> {
    const wanted = request.user ?? failField('user', 'is required to update a user')
    const tenant = actor.tenantId
    return refuseTaken('user.username', 'username_is_unique_in_its_tenant', () =>
      db.inTenant(tenant, async (tx) => {
        // Groups are locked before users, here as where a group's members change.
        const groups = await groupsNamed(tx, tenant, wanted.group_ids)
        const before = await queries.lockUser(tx, tenant, id)
        if (!before || before.deleted_at) missingUser()
        refuseStronger(actor, before)
        const fields = changedFields(before, wanted)
        if (Object.keys(fields).length > 0)
          await queries.updateProfile(tx, tenant, id, { ...fields, updated_at: now() })
        const pairs = (ids: string[]) => ids.map((group) => ({ group, user: id }))
        const added = await addMembers(tx, tenant, pairs(groups))
        const surplus = wanted.group_ids ? before.group_ids.filter((g) => !groups.includes(g)) : []
        const removed = await removeMembers(tx, tenant, pairs(surplus))
        if (Object.keys(fields).length + added.length + removed.length === 0)
          return { changed: false, user: before, terminated: 0 }
        const after = await read(tx, tenant, id)
        await settle(tx, actor, request, after, { changes: differences(before, after) })
        return { changed: true, user: after, terminated: 0 }
      }),
    )
  }

  async function move(actor: Actor, request: UserRequest & { operation: Move }, id: string): Promise<Outcome> {
    const tenant = actor.tenantId
    const { operation } = request
    return db.inTenant(tenant, async (tx) => {
      const before = await read(tx, tenant, id)
      if (before.deleted_at)
        return operation === 'delete' ? { changed: false, user: before, terminated: 0 } : missingUser()
      refuseStronger(actor, before)
      const stops = operation === 'suspend' || operation === 'delete'
      if (stops) await refuseLast(tx, tenant, before, before.roles)
      const moved = await moves[operation](tx, tenant, id, now())
      const after = await read(tx, tenant, id)
      if (!moved) return { changed: false, user: after, terminated: 0 }
      const vpn = stops
        ? await deps.endSessionsOf(tx, tenant, {
            userIds: [id],
            reason: operation === 'delete' ? 'revoked' : 'suspended',
          })
        : 0
      const also = stops ? await sessions.endOfUser(tx, actor, id) : []
      await settle(tx, actor, request, after, { changes: differences(before, after), also })
      return { changed: true, user: after, terminated: vpn + also.length }
    })
  }

  /** The holders are locked in one order before anything else, so two who remove each other can't both succeed. */
  async function refuseLast(tx: Tx, tenant: TenantId, user: UserRow, roles: readonly string[]): Promise<void> {
    const held = roles.filter((role) => indispensable.includes(role))
    if (held.length === 0) return
    const holders = await queries.lockHolders(tx, tenant, held)
    for (const role of held) {
      const active = holders.filter((h) => h.role === role)
      if (active.length === 1 && active[0]?.user_id === user.user_id)
        fail('validation_error', `${user.username} is the last active ${role}; give that role to someone else first`)
    }
  }

  /** A local user with a password, made by the deployment itself. Of two first starts at once one makes it. */
  async function createUser(
    tenant: TenantId,
    user: { username: string; password: string; roles: readonly Role[]; email?: string; displayName?: string },
  ): Promise<{ userId: string; created: boolean }> {
    const password_phc = await passwords.hashPassword(user.password)
    const id = newUuid()
    const at = now()
    const row = {
      tenant_id: tenant,
      user_id: id,
      username: user.username,
      email: user.email ?? null,
      display_name: user.displayName ?? '',
      password_phc,
      created_at: at,
      updated_at: at,
    }
    return db.inTenant(tenant, async (tx) => {
      if (!(await queries.insertUser(tx, row))) {
        const taken = await queries.findIdByUsername(tx, tenant, user.username)
        return { userId: taken ?? fail('internal_error', `the user ${user.username} can't be made`), created: false }
      }
      if (user.roles.length > 0) await queries.insertRoles(tx, tenant, id, user.roles)
      const user_id = encodeId('user', id)
      const more = {
        target: { type: 'user', id: user_id, name: user.username },
        details: { roles: user.roles },
      }
      await audit.record(tx, jobSource(tenant, 'bootstrap'), 'user.changed', { operation: 'create', user_id }, more)
      await changes.record(tx, tenant, [{ kind: 'user', subject: id }])
      return { userId: id, created: true }
    })
  }

  return {
    find: async (tenant: TenantId, wireId: string): Promise<UserRow> => {
      const id = decodeId('user', wireId)
      const user = id && (await db.inTenant(tenant, (tx) => queries.findUser(tx, tenant, id)))
      return user && !user.deleted_at ? user : missingUser()
    },

    change: async (actor: Actor, request: UserRequest): Promise<Outcome> => {
      if (request.operation === 'create') return create(actor, request)
      const wireId = request.user_id ?? failField('user_id', `is required to ${request.operation} a user`)
      const id = decodeId('user', wireId) ?? missingUser()
      if (request.operation === 'update') return update(actor, request, id)
      if (request.user !== undefined) failField('user', `has no meaning with ${request.operation}`)
      return move(actor, { ...request, operation: request.operation }, id)
    },

    createUser,
    /** 422 if nobody else could act in one of these roles of the user. Holds everyone who could until commit. */
    refuseLast,

    /** The administrator of a deployment that has none in this role yet; undefined when there is one. */
    createFirstAdmin: async (
      tenant: TenantId,
      admin: { username: string; password: string; role: Role },
    ): Promise<string | undefined> => {
      const holders = await db.inTenant(tenant, (tx) => queries.lockHolders(tx, tenant, [admin.role]))
      if (holders.length > 0) return undefined
      const { userId, created } = await createUser(tenant, { ...admin, roles: [admin.role] })
      return created ? userId : undefined
    },
  }
}

function changedFields(before: UserRow, { username, email, display_name }: UserFields) {
  return {
    ...(username !== undefined && username !== before.username && { username }),
    ...(email !== undefined && email !== before.email && { email }),
    ...(display_name !== undefined && display_name !== before.display_name && { display_name }),
  }
}

function differences(before: UserRow, after: UserRow): Changed {
  const found: Record<string, [unknown, unknown]> = {}
  for (const field of ['username', 'email', 'display_name', 'status'] as const)
    if (before[field] !== after[field]) found[field] = [before[field], after[field]]
  if (String(before.roles) !== String(after.roles)) found.roles = [before.roles, after.roles]
  const groups = (user: UserRow) => user.group_ids.map((id) => encodeId('group', id))
  if (String(before.group_ids) !== String(after.group_ids)) found.group_ids = [groups(before), groups(after)]
  return found
}
export type Users = ReturnType<typeof createUsers>
