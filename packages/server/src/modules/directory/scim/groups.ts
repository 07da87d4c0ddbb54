import type { DiffItem } from '@holdfast/contract/directory'
import { mostMembers, type ScimPatch } from '@holdfast/contract/scim-shapes'
import type { Database } from '../../../db/database.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { differences } from '../../../kernel/differences.ts'
import { encodeId, missing, newUuid } from '../../../kernel/ids.ts'
import type { ExpectedVersion } from '../../../kernel/version.ts'
import type { Audit } from '../../audit/index.ts'
import {
  type GroupEntry,
  isOwnExternalId,
  type Owned,
  type OwnedChanges,
  type OwnedGroup,
  ownExternalId,
  type Pair,
  shownExternalId,
} from '../../identity/index.ts'
import { behalfOf } from '../acting-principal.ts'
import { madeRoom } from '../plan.ts'
import { failScim } from './errors.ts'
import { type GroupChange, patchGroup, readGroup } from './patch-group.ts'
import type { ScimProvisioning } from './provisioning.ts'
import type { Push, PushDirectory } from './push.ts'
import { type Held, isHeld, type Windows } from './windows.ts'

type GroupsDeps = {
  db: Database
  audit: Audit
  now: () => Date
  owned: Owned
  provisioning: ScimProvisioning
  windows: Windows
}
export type ShownGroup = { entry: GroupEntry; members: readonly string[] | undefined }
const noUsers: Pick<OwnedChanges, 'createdUsers' | 'changedUsers'> = { createdUsers: [], changedUsers: [] }

/** Version of a group: its settable fields. A change of members changes `updated_at`. */
export const versionOfGroup = ({ group_id, external_id, name, member_count, updated_at }: GroupEntry) => ({
  group_id,
  external_id,
  name,
  member_count,
  updated_at,
})

/** Groups pushed one by one by an identity provider. The cost depends on the change, not on the size of the group. */
export function createScimGroups({ db, audit, now, owned, provisioning, windows }: GroupsDeps) {
  const { entries } = owned

  const find = async ({ tx, tenant, directory }: PushDirectory, id: string): Promise<GroupEntry> => {
    const entry = await entries.groupEntry(tx, tenant, directory, { id })
    return entry && !entry.absent ? entry : missing('group')
  }

  /** A deleted group of the same directory gives up its name to the group that wants it. Any other group keeps it. */
  async function roomFor({ tx, tenant, directory }: Push, name: string, id: string) {
    const holder = await entries.groupNamed(tx, tenant, directory, name)
    if (!holder || holder.group_id === id) return []
    if (!holder.is_own || !holder.absent) failScim('uniqueness', 'displayName: is already taken by another group')
    return [{ before: holder, name: madeRoom(holder.name, holder.group_id) }]
  }

  /**
   * Computes added and removed members. Throws 400 for a member who is no user of the directory. Removing a user who is
   * no member has no effect.
   */
  async function moved({ tx, tenant, directory }: Push, group: string, change: GroupChange) {
    const coming = [...(change.members ?? change.added)]
    const there = await entries.usersThere(tx, tenant, directory, coming)
    const unknownUser = coming.find((user) => !there.has(user))
    if (unknownUser !== undefined)
      failScim('invalidValue', `members: ${encodeId('user', unknownUser)} is not a user of this directory`)
    const among = change.members ? undefined : [...change.removed, ...change.added]
    const inside = new Set(await entries.membersOfGroup(tx, tenant, { directory, group, ...(among && { among }) }))
    const going = change.members ? [...inside].filter((user) => !change.members?.has(user)) : [...change.removed]
    const pairs = (users: readonly string[]) => users.map((user_id) => ({ group_id: group, user_id }))
    return {
      added: pairs(coming.filter((user) => !inside.has(user))),
      removed: pairs(going.filter((user) => inside.has(user))),
    }
  }

  async function save(
    push: Push,
    before: GroupEntry | undefined,
    wanted: GroupChange,
  ): Promise<{ group_id: string } | Held> {
    const { tx, actor, tenant, directory, details } = push
    const group_id = before?.group_id ?? newUuid()
    const name = wanted.displayName ?? before?.name ?? failScim('invalidValue', 'displayName: is required')
    const externalId = 'externalId' in wanted ? wanted.externalId : undefined
    const kept = 'externalId' in wanted && externalId === undefined ? undefined : before?.external_id
    const external_id = externalId ?? kept ?? ownExternalId(group_id)
    if (external_id !== before?.external_id) {
      const other = await entries.groupEntry(tx, tenant, directory, { externalId: external_id })
      if (other) failScim('uniqueness', 'externalId: is already taken by another group of this directory')
    }
    const clearedNames = before?.name === name ? [] : await roomFor(push, name, group_id)
    const { added, removed } = await moved(push, group_id, wanted)
    const isRenamed = before !== undefined && before.name !== name
    const isSame = before && !before.absent && before.external_id === external_id
    if (isSame && !isRenamed && clearedNames.length + added.length + removed.length === 0) return { group_id }
    const had = () => entries.countOwnMembers(tx, tenant, directory, group_id)
    const diffItem = toldOf('group_members_changed', { group_id, external_id, name }, removed.length)
    const held = await windows.take(push, { group: { group_id, name }, users: usersOf(removed), had, diffItem })
    if (held) return held
    await windows.come(push, usersOf(added), group_id)
    const cause = { ...behalfOf(actor), directory, details, places: push.places }
    const made = await owned.apply(tx, cause, {
      ...noUsers,
      createdGroups: before ? [] : [{ group_id, external_id, name }],
      renamedGroups: [...clearedNames, ...(isRenamed ? [{ before, name }] : [])],
      added,
      removed,
    })
    if (before && !isSame) {
      await entries.setGroupEntry(tx, tenant, group_id, { external_id, absent: false, at: now() })
      const wire = encodeId('group', group_id)
      const target = { type: 'group', id: wire, name }
      const changed = differences(
        { external_id: shownExternalId(before.external_id) },
        { external_id: shownExternalId(external_id) },
      )
      const more = { target, changes: changed, details }
      await audit.record(tx, actor, 'group.changed', { operation: 'update', group_id: wire }, more)
    }
    const groups = before ? { updated: 1 } : { created: 1 }
    push.done({ groups, memberships: { added: made.added, removed: made.removed } }, made.touched)
    return { group_id }
  }

  /** A push that returns the resulting group, with its members if requested. */
  const write = (
    actor: Actor,
    withMembers: boolean,
    work: (push: Push) => Promise<{ group_id: string } | Held>,
  ): Promise<ShownGroup> =>
    provisioning.push(actor, async (push) => {
      const done = await work(push)
      return isHeld(done) ? done : shown(push, await find(push, done.group_id), withMembers)
    })
  const shown = async ({ tx, tenant, directory }: PushDirectory, entry: GroupEntry, withMembers: boolean) => {
    const rows = withMembers ? await entries.membersOfGroups(tx, tenant, directory, [entry.group_id]) : undefined
    return { entry, members: rows?.map((row) => row.user_id) }
  }

  return {
    get: (actor: Actor, id: string, withMembers: boolean): Promise<ShownGroup> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const place = await provisioning.read(tx, actor)
        const entry = await find(place, id)
        if (withMembers) requireListable([entry])
        return shown(place, entry, withMembers)
      }),

    create: (actor: Actor, body: object): Promise<ShownGroup> => {
      const groupInput = readGroup(body)
      return write(actor, true, async (push) => {
        const { externalId } = groupInput
        const known =
          externalId === undefined
            ? undefined
            : await entries.groupEntry(push.tx, push.tenant, push.directory, { externalId })
        if (known && !known.absent) failScim('uniqueness', 'externalId: is already taken by a group of this directory')
        return save(push, known, groupInput)
      })
    },

    replace: (actor: Actor, id: string, body: object, expected: ExpectedVersion): Promise<ShownGroup> => {
      const { externalId, ...wanted } = readGroup(body)
      return write(actor, true, async (push) => {
        const before = await find(push, id)
        expected.require(versionOfGroup(before))
        return save(push, before, { ...wanted, ...(externalId !== undefined && { externalId }) })
      })
    },

    patch: async (actor: Actor, id: string, patch: ScimPatch, expected: ExpectedVersion): Promise<null> => {
      const wanted = patchGroup(patch)
      await write(actor, false, async (push) => {
        const before = await find(push, id)
        expected.require(versionOfGroup(before))
        return save(push, before, wanted)
      })
      return null
    },

    /** Removes all members and hides the group. The group stays for policies that name it. */
    remove: async (actor: Actor, id: string, expected: ExpectedVersion): Promise<null> => {
      await provisioning.push(actor, async (push) => {
        const { tx, tenant, directory, details } = push
        const before = await find(push, id)
        expected.require(versionOfGroup(before))
        const { added, removed } = await moved(push, id, { members: new Set(), added: new Set(), removed: new Set() })
        const had = () => entries.countOwnMembers(tx, tenant, directory, id)
        const diffItem = toldOf('group_emptied', before, removed.length)
        const held = await windows.take(push, { group: before, users: usersOf(removed), had, diffItem })
        if (held) return held
        const cause = { ...behalfOf(actor), directory, details, places: push.places }
        const groups = { createdGroups: [], renamedGroups: [] }
        const made = await owned.apply(tx, cause, { ...noUsers, ...groups, added, removed })
        const { external_id, name } = before
        await entries.setGroupEntry(tx, tenant, id, { external_id, absent: true, at: now() })
        const group_id = encodeId('group', id)
        const target = { type: 'group', id: group_id, name }
        const more = { target, details: { ...details, deleted: true } }
        await audit.record(tx, actor, 'group.changed', { operation: 'update', group_id }, more)
        push.done({ groups: { emptied: 1 }, memberships: { removed: made.removed } }, made.touched)
        return {}
      })
      return null
    },
  }
}
export type ScimGroups = ReturnType<typeof createScimGroups>

const usersOf = (pairs: readonly Pair[]) => pairs.map((pair) => pair.user_id)

const toldOf = (change: DiffItem['change'], group: OwnedGroup, removed: number): DiffItem => ({
  change,
  external_id: shownExternalId(group.external_id) ?? encodeId('group', group.group_id),
  name: group.name,
  detail: `-${removed} members`,
})

/** Limits the members listed in one answer. */
export function requireListable(groups: readonly GroupEntry[]): void {
  if (groups.reduce((n, g) => n + g.member_count, 0) > mostMembers.shown)
    failScim(
      'tooMany',
      `the group has more than ${mostMembers.shown} members: repeat the request with excludedAttributes=members`,
    )
}

export const externalIdOf = (external_id: string) => (isOwnExternalId(external_id) ? {} : { externalId: external_id })
