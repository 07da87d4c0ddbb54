import { background, type Database, RunAgain, type Tx } from '../../../db/database.ts'
import { mapUniqueViolation } from '../../../db/unique-violation.ts'
import { type Actor, personsBehind, type TenantId } from '../../../kernel/actor.ts'
import { failField } from '../../../kernel/app-error.ts'
import { type Differences, differences } from '../../../kernel/differences.ts'
import { encodeId, missing, newUuid } from '../../../kernel/ids.ts'
import type { ExpectedVersion } from '../../../kernel/version.ts'
import type { Change, Changes } from '../../../replication/changes.ts'
import type { Audit } from '../../audit/index.ts'
import { type Cut, type Offboarding, userDeleted } from '../../offboarding/index.ts'
import type { IdentityDeps } from '../deps.ts'
import { holdAdministrators, mayBeLast, requireAnother, type Warning, warned } from './administrators.ts'
import type { BreakGlass } from './break-glass.ts'
import { noteSetting } from './credential-setters.ts'
import { canonicalEmail } from './email.ts'
import { addMembers, lockGroups, removeMembers } from './groups.queries.ts'
import { newUsername } from './new-username.ts'
import { requireAll } from './references.ts'
import { present, refuseOneself, refuseStronger, userVersion } from './subject.ts'
import type { UserRow } from './users.queries.ts'
import * as queries from './users.queries.ts'

type UserKind = 'person' | 'service'
type UserFields = { username?: string; email?: string | null; display_name?: string; groups?: string[] }
type Move = 'suspend' | 'reactivate' | 'unlock' | 'delete'
/** `terminated`: number of admin and VPN sessions that ended. */
type Outcome = { changed: boolean; user: UserRow; terminated: number; warnings: Warning[] }
/** Reason of a change, and the version that the caller expects. */
type With = { reason?: string | undefined; expected: ExpectedVersion }
type Event = { operation: Move | 'create' | 'update'; reason: string | undefined }

const moves: Record<Move, (tx: Tx, tenant: TenantId, id: string, at: Date) => Promise<boolean>> = {
  suspend: (tx, tenant, id, at) => queries.moveStatus(tx, tenant, id, 'suspended', at),
  reactivate: (tx, tenant, id, at) => queries.moveStatus(tx, tenant, id, 'active', at),
  unlock: queries.unlock,
  delete: queries.softDelete,
}
/** Operations that lift a limit of the user. */
const lifts: readonly Move[] = ['reactivate', 'unlock']
const unlessTaken = <T>(work: () => Promise<T>) =>
  mapUniqueViolation('user.username', 'username_is_unique_in_its_tenant', work)

export function createUsers(deps: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  tenancy: Pick<IdentityDeps['tenancy'], 'entitlements'>
  breakGlass: Pick<BreakGlass, 'requireAnother'>
  offboarding: Pick<Offboarding, 'cutAccess' | 'cutSuspended'>
}) {
  const { db, audit, changes, now, offboarding } = deps
  const { entitlements } = deps.tenancy

  /** Last statements of every change: its event, then the change records for replicas. */
  async function record(
    tx: Tx,
    actor: Actor,
    { operation, reason }: Event,
    user: UserRow,
    more: { changes?: Differences; also?: readonly Change[]; warnings?: Warning[] },
  ) {
    const user_id = encodeId('user', user.user_id)
    const details = { ...(reason !== undefined && { reason }), ...warned(more.warnings ?? []) }
    await audit.record(
      tx,
      actor,
      'user.changed',
      { operation, user_id },
      {
        target: { type: 'user', id: user_id, name: user.username },
        ...(more.changes && { changes: more.changes }),
        ...(Object.keys(details).length > 0 && { details }),
      },
    )
    await changes.record(tx, actor.tenantId, [{ kind: 'user', subject: user.user_id }, ...(more.also ?? [])])
  }
  const read = async (tx: Tx, tenant: TenantId, id: string) =>
    (await queries.findUser(tx, tenant, id)) ?? missing('user')
  /**
   * Locks the groups that the user joins or leaves, in one order. The user's row is locked, so nobody else adds it to a
   * group meanwhile.
   */
  const lockAll = async (tx: Tx, tenant: TenantId, userIds: readonly string[], surplus: readonly string[]) => {
    const found = await lockGroups(tx, tenant, [...userIds, ...surplus])
    await requireAll('group', 'user.group_ids', userIds, async () => found)
  }

  return {
    find: async (tenant: TenantId, id: string): Promise<UserRow> =>
      present(await db.inTenant(tenant, (tx) => queries.findUser(tx, tenant, id))),

    create: (
      actor: Actor,
      fieldsInput: UserFields & { kind: UserKind; username: string },
      reason: string | undefined,
    ): Promise<Outcome> => {
      const tenant = actor.tenantId
      const id = newUuid()
      const username = usernameOf(fieldsInput.username)
      const email = emailOf(fieldsInput.email) ?? null
      const { kind, groups = [], display_name = '' } = fieldsInput
      return unlessTaken(() =>
        db.inTenant(tenant, async (tx) => {
          const places = await entitlements.hold(tx, tenant, 'users')
          const at = now()
          const user = {
            tenant_id: tenant,
            user_id: id,
            kind,
            username,
            email,
            display_name,
            created_at: at,
            updated_at: at,
            stands_for: kind === 'service' ? [...personsBehind(actor)] : [],
          }
          await queries.insertUser(tx, places.take(1), user)
          await lockAll(tx, tenant, groups, [])
          await addMembers(tx, tenant, pairsOf(id, groups), at)
          await noteSetting(tx, actor, tenant, id, at)
          const made = await read(tx, tenant, id)
          await record(tx, actor, { operation: 'create', reason }, made, {})
          return { changed: true, user: made, terminated: 0, warnings: [] }
        }),
      )
    },

    update: (actor: Actor, id: string, fieldsInput: UserFields, { reason, expected }: With): Promise<Outcome> => {
      const tenant = actor.tenantId
      const { groups } = fieldsInput
      const given = {
        ...(fieldsInput.email !== undefined && { email: emailOf(fieldsInput.email) ?? null }),
        ...(fieldsInput.display_name !== undefined && { display_name: fieldsInput.display_name }),
      }
      return unlessTaken(() =>
        db.inTenant(tenant, async (tx) => {
          const before = present(await queries.lockUser(tx, tenant, id))
          refuseStronger(actor, before)
          expected.require(userVersion(before))
          const named = {
            ...given,
            ...(fieldsInput.username !== undefined && { username: usernameOf(fieldsInput.username, before.username) }),
          }
          const changed = Object.keys(differences(before, { ...before, ...named })).length > 0
          const at = now()
          if (changed) await queries.updateProfile(tx, tenant, id, { ...named, updated_at: at })
          const surplus = groups ? before.group_ids.filter((g) => !groups.includes(g)) : []
          await lockAll(tx, tenant, groups ?? [], surplus)
          const added = await addMembers(tx, tenant, pairsOf(id, groups ?? []), at)
          const removed = await removeMembers(tx, tenant, pairsOf(id, surplus), at)
          if (!changed && added.length + removed.length === 0)
            return { changed: false, user: before, terminated: 0, warnings: [] }
          const after = await read(tx, tenant, id)
          const found = differences(factsOf(before), factsOf(after))
          await record(tx, actor, { operation: 'update', reason }, after, { changes: found })
          return { changed: true, user: after, terminated: 0, warnings: [] }
        }),
      )
    },

    move: (actor: Actor, operation: Move, id: string, { reason, expected }: With): Promise<Outcome> => {
      const tenant = actor.tenantId
      const stops = operation === 'suspend' || operation === 'delete'
      if (lifts.includes(operation)) refuseOneself(actor, id)
      const work = async (tx: Tx): Promise<Outcome> => {
        const places = operation === 'reactivate' ? await entitlements.hold(tx, tenant, 'users') : undefined
        const isHeld = stops && mayBeLast((await queries.findUser(tx, tenant, id))?.roles ?? [])
        if (isHeld) await holdAdministrators(tx, tenant)
        const before = (await queries.lockUser(tx, tenant, id)) ?? missing('user')
        if (stops && !isHeld && mayBeLast(before.roles))
          throw new RunAgain('the user became an administrator meanwhile')
        if (before.deleted_at && operation === 'delete') {
          expected.require(undefined)
          return { changed: false, user: before, terminated: 0, warnings: [] }
        }
        refuseStronger(actor, present(before))
        expected.require(userVersion(before))
        const warnings = stops ? await requireAnother(tx, actor, before, before.roles) : []
        if (isHeld) warnings.push(...(await deps.breakGlass.requireAnother(tx, actor, before)))
        const at = now()
        const moved = await moves[operation](tx, tenant, id, at)
        if (moved) places?.take(1)
        let cut = noCut
        if (moved && operation === 'delete') {
          await lockAll(tx, tenant, [], before.group_ids)
          await removeMembers(tx, tenant, pairsOf(id, before.group_ids), at)
          cut = await offboarding.cutAccess(tx, actor, [before], userDeleted)
        }
        const after = await read(tx, tenant, id)
        if (!moved) return { changed: false, user: after, terminated: 0, warnings: [] }
        if (operation === 'suspend') cut = await offboarding.cutSuspended(tx, actor, [before])
        const found = differences(factsOf(before), factsOf(after))
        await record(tx, actor, { operation, reason }, after, { changes: found, also: cut.changes, warnings })
        const terminated = cut.counts.vpn_sessions + cut.counts.admin_sessions
        return { changed: true, user: after, terminated, warnings }
      }
      // Uses the longer timeout, since a user may have thousands of devices.
      return db.inTenant(tenant, work, operation === 'delete' ? background : undefined)
    },
  }
}
export type Users = ReturnType<typeof createUsers>

const noCut: Cut<'vpn_sessions' | 'admin_sessions'> = { counts: { vpn_sessions: 0, admin_sessions: 0 }, changes: [] }

const pairsOf = (user: string, groups: readonly string[]) => groups.map((group) => ({ group, user }))
const usernameOf = (text: string, current?: string): string => {
  const { name, problem } = newUsername(text, current)
  return name ?? failField('user.username', problem)
}
const emailOf = (text: string | null | undefined): string | null | undefined =>
  typeof text === 'string'
    ? (canonicalEmail(text) ?? failField('user.email', 'contains invisible characters: remove them'))
    : text

/** Fields of a user for audit events, as on the wire. */
const factsOf = ({ username, email, display_name, status, roles, group_ids }: UserRow) => ({
  username,
  email,
  display_name,
  status,
  roles,
  group_ids: group_ids.map((id) => encodeId('group', id)),
})
