import type { DiffItem } from '@holdfast/contract/directory'
import type { ScimPatch } from '@holdfast/contract/scim-shapes'
import type { Database } from '../../../db/database.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { differences } from '../../../kernel/differences.ts'
import { encodeId, missing, newUuid } from '../../../kernel/ids.ts'
import { day } from '../../../kernel/time.ts'
import type { ExpectedVersion } from '../../../kernel/version.ts'
import type { Change } from '../../../replication/changes.ts'
import type { Audit } from '../../audit/index.ts'
import {
  type Owned,
  type OwnedChanges,
  type OwnedUser,
  ownExternalId,
  recordedChanges,
  shownExternalId,
  type UserAfter,
  type UserEntry,
} from '../../identity/index.ts'
import { behalfOf } from '../acting-principal.ts'
import { isStrongerThanPrincipal } from '../judge.ts'
import { letIn, madeRoom, sameAs } from '../plan.ts'
import { failScim } from './errors.ts'
import { patchUser } from './patch-user.ts'
import type { ScimProvisioning } from './provisioning.ts'
import type { Push, PushDirectory } from './push.ts'
import { readUser, storedUserFacts, type UserAttributes } from './user-attributes.ts'
import { afterOf, attributesOf, countedMoveOf, namesOfDifferences, newUserState, versionOfUser } from './user-states.ts'
import { type Held, isHeld, type Windows } from './windows.ts'

export type ShownUser = { entry: UserEntry; groups: { group_id: string; name: string }[] }
type UsersDeps = {
  db: Database
  audit: Audit
  now: () => Date
  owned: Owned
  provisioning: ScimProvisioning
  windows: Windows
}
const nothing: Omit<OwnedChanges, 'createdUsers' | 'changedUsers'> = {
  createdGroups: [],
  renamedGroups: [],
  added: [],
  removed: [],
}

/** Users pushed one by one by an identity provider, under the same rules as a snapshot. */
export function createScimUsers({ db, audit, now, owned, provisioning, windows }: UsersDeps) {
  const { entries } = owned

  /** Refuses to remove the last administrator, and to change a user who may do more than the caller. */
  async function requireUnprotected({ tx, actor, tenant }: Push, before: UserEntry, after: UserAfter): Promise<void> {
    if (isStrongerThanPrincipal(behalfOf(actor), before))
      fail(
        'forbidden',
        `${before.username} has permissions that this API key does not have, so the key cannot change this user`,
      )
    const isGoing = before.status === 'active' && after.status === 'suspended'
    if (isGoing && (await owned.lastAdministrators(tx, tenant, [before])).size > 0)
      fail('forbidden', `${before.username} is the last administrator of this tenant, so this user cannot be suspended`)
  }

  /**
   * Users created within the last day do not raise the limit, so that filling the directory first does not allow more
   * removals.
   */
  const activeOf = ({ tx, tenant, directory }: Push): Promise<number> =>
    entries.countActive(tx, tenant, directory, new Date(now().getTime() - day))

  /**
   * A deleted user of the same directory gives up the username to the user who wants it. Any other user keeps it, and
   * so does a user who may do more than the caller.
   */
  async function roomFor({ tx, actor, tenant, directory }: Push, username: string, id?: string) {
    const holder = await entries.userNamed(tx, tenant, directory, username)
    if (!holder || holder.user_id === id) return []
    const { is_own, ...before } = holder
    if (!is_own || !before.absent || isStrongerThanPrincipal(behalfOf(actor), before))
      failScim('uniqueness', 'userName: is already taken by another user')
    return [{ before, after: { ...sameAs(before), username: madeRoom(before.username, before.user_id) } }]
  }

  /**
   * Creates or updates a user. `replaced`: a deleted user whose external ID the new one takes over; it is deleted for
   * good.
   */
  async function save(
    push: Push,
    before: UserEntry | undefined,
    userInput: UserAttributes,
    replaced?: UserEntry,
  ): Promise<{ user_id: string } | Held> {
    const { tx, actor, tenant, directory } = push
    const details = {
      ...push.details,
      ...(before?.absent && { returned: true }),
      ...(replaced && { replaces: encodeId('user', replaced.user_id) }),
    }
    const { externalId, active: _, ...attributes } = userInput
    const facts = storedUserFacts(userInput, before?.username)
    const user_id = before?.user_id ?? newUuid()
    const external_id = externalId ?? ownExternalId(user_id)
    if (external_id !== before?.external_id) {
      const other = await entries.userEntry(tx, tenant, directory, { externalId: external_id })
      if (other && other.user_id !== replaced?.user_id)
        failScim('uniqueness', 'externalId: is already taken by another user of this directory')
    }
    const clearedNames = await roomFor(push, facts.username, before?.user_id)
    const made: OwnedUser = before ?? { user_id, external_id, ...facts, ...newUserState }
    const after = afterOf(made, userInput.active, facts)
    const changed = Object.keys(differences(sameAs(made), after)).length > 0
    const renamed = differences(
      { external_id: shownExternalId(before?.external_id ?? null) },
      { external_id: shownExternalId(external_id) },
    )
    const described = namesOfDifferences(before?.directory_attributes ?? {}, attributes)
    const isSame = clearedNames.length === 0 && described.length === 0 && Object.keys(renamed).length === 0
    if (before && !changed && isSame) return { user_id }
    if (before) await requireUnprotected(push, before, after)
    if (replaced) await requireUnprotected(push, replaced, { ...sameAs(replaced), status: 'suspended' })
    const leaver = replaced ?? (after.status === 'suspended' ? before : undefined)
    if (leaver?.status === 'active') {
      const diffItem = toldOf(leaver, replaced ? 'deleted' : null)
      const held = await windows.take(push, { users: [leaver.user_id], had: () => activeOf(push), diffItem })
      if (held) return held
    }
    if (before?.status !== 'active' && after.status === 'active') await windows.come(push, [user_id])
    const cause = { ...behalfOf(actor), directory, details, places: push.places }
    const touched: Change[] = []
    if (!before || clearedNames.length > 0) {
      const createdUsers = before ? [] : [{ user_id, external_id, ...facts }]
      const deletedUsers = replaced ? [replaced] : []
      const first = await owned.apply(tx, cause, { ...nothing, createdUsers, changedUsers: clearedNames, deletedUsers })
      touched.push(...first.touched)
    }
    if (changed) {
      const second = await owned.apply(tx, cause, {
        ...nothing,
        createdUsers: [],
        changedUsers: [{ before: made, after }],
        ...(before?.absent && { returned: [before] }),
      })
      touched.push(...second.touched)
    }
    await entries.setUserEntry(tx, tenant, user_id, { external_id, attributes, at: now() })
    // For other changes an event with the changed fields is already recorded.
    const isTold = before && Object.keys(recordedChanges(before, after)).length > 0
    if (before && (!isTold || Object.keys(renamed).length > 0)) {
      const wire = encodeId('user', user_id)
      const target = { type: 'user', id: wire, name: after.username }
      const more = { target, changes: renamed, details: { ...details, attributes: described } }
      await audit.record(tx, actor, 'user.changed', { operation: 'update', user_id: wire }, more)
    }
    push.done({ users: countedMoveOf(before, after) }, touched)
    return { user_id }
  }

  const find = async ({ tx, tenant, directory }: PushDirectory, id: string): Promise<UserEntry> => {
    const entry = await entries.userEntry(tx, tenant, directory, { id })
    return entry && !entry.absent ? entry : missing('user')
  }
  const show = async (
    { tx, tenant, directory }: PushDirectory,
    all: readonly UserEntry[],
    withGroups = true,
  ): Promise<ShownUser[]> => {
    const ids = all.map((entry) => entry.user_id)
    const rows = withGroups ? await entries.ownedGroupsOfUsers(tx, tenant, directory, ids) : []
    const groups = Map.groupBy(rows, (row) => row.user_id)
    return all.map((entry) => ({ entry, groups: groups.get(entry.user_id) ?? [] }))
  }
  const shown = async (place: PushDirectory, id: string): Promise<ShownUser> => {
    const [user] = await show(place, [await find(place, id)])
    return user ?? missing('user')
  }
  /** A push that returns the resulting user. */
  const write = (actor: Actor, work: (push: Push) => Promise<{ user_id: string } | Held>): Promise<ShownUser> =>
    provisioning.push(actor, async (push) => {
      const done = await work(push)
      return isHeld(done) ? done : shown(push, done.user_id)
    })
  const change = (actor: Actor, id: string, expected: ExpectedVersion, edit: (before: UserEntry) => UserAttributes) =>
    write(actor, async (push) => {
      const before = await find(push, id)
      expected.require(versionOfUser(before))
      return save(push, before, edit(before))
    })

  return {
    show,
    get: (actor: Actor, id: string): Promise<ShownUser> =>
      db.inTenant(actor.tenantId, async (tx) => shown(await provisioning.read(tx, actor), id)),

    create: (actor: Actor, body: object): Promise<ShownUser> => {
      const userInput = readUser(body, { active: true })
      return write(actor, async (push) => {
        const { externalId } = userInput
        const known =
          externalId === undefined
            ? undefined
            : await entries.userEntry(push.tx, push.tenant, push.directory, { externalId })
        if (known && !known.absent) failScim('uniqueness', 'externalId: is already taken by a user of this directory')
        if (!known) return save(push, undefined, userInput)
        const isSame = known.username === storedUserFacts(userInput).username
        return isSame ? save(push, known, userInput) : save(push, undefined, userInput, known)
      })
    },

    replace: (actor: Actor, id: string, body: object, expected: ExpectedVersion): Promise<ShownUser> =>
      change(actor, id, expected, (before) => {
        const { externalId, active } = attributesOf(before)
        return readUser(body, { externalId, active })
      }),

    patch: (actor: Actor, id: string, patch: ScimPatch, expected: ExpectedVersion): Promise<ShownUser> =>
      change(actor, id, expected, (before) => patchUser(attributesOf(before), patch)),

    /**
     * Suspends the user, revokes all access, removes all memberships, and hides the user, who is deleted after 30 days.
     */
    remove: async (actor: Actor, id: string, expected: ExpectedVersion): Promise<null> => {
      await provisioning.push(actor, async (push) => {
        const { tx, directory, details } = push
        const before = await find(push, id)
        expected.require(versionOfUser(before))
        const isGoing = before.status === 'active'
        const after = { ...sameAs(before), ...letIn(before, false), absent: true }
        await requireUnprotected(push, before, after)
        const diffItem = toldOf(before, 'deleted')
        const held = await windows.take(push, { users: isGoing ? [id] : [], had: () => activeOf(push), diffItem })
        if (held) return held
        const cause = { ...behalfOf(actor), directory, details: { ...details, deleted: true }, places: push.places }
        const made = await owned.apply(tx, cause, {
          ...nothing,
          createdUsers: [],
          changedUsers: [{ before, after }],
          offboarded: [before],
        })
        if (!isGoing) {
          const user_id = encodeId('user', id)
          const target = { type: 'user', id: user_id, name: before.username }
          await audit.record(
            tx,
            actor,
            'user.changed',
            { operation: 'update', user_id },
            { target, details: cause.details },
          )
        }
        push.done({ users: { suspended: isGoing ? 1 : 0 }, memberships: { removed: made.removed } }, made.touched)
        return {}
      })
      return null
    },
  }
}
const toldOf = ({ user_id, external_id, username }: UserEntry, detail: string | null): DiffItem => ({
  change: 'user_suspended',
  external_id: shownExternalId(external_id) ?? encodeId('user', user_id),
  name: username,
  detail,
})
export type ScimUsers = ReturnType<typeof createScimUsers>
