import { mostMembers, type ScimPatch } from '@holdfast/contract/scim-shapes'
import { decodeId } from '../../../kernel/ids.ts'
import { groupKind, type PatchTarget, readPath, spelled } from './attributes.ts'
import { failScim } from './errors.ts'
import type { ScimFilter } from './filter.ts'
import { operationsOf } from './patch.ts'
import { attributeText, settableOf } from './user-attributes.ts'

/** Changes to a group. `members` replaces all members; `added` and `removed` are relative to the current ones. */
export type GroupChange = {
  displayName?: string
  externalId?: string | undefined
  members?: Set<string>
  added: Set<string>
  removed: Set<string>
}
const longest = { externalId: 256, displayName: 256 }
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const noChange = (): GroupChange => ({ added: new Set(), removed: new Set() })

/** Reads members as UUIDs of users. Refuses nested groups and malformed IDs. Unknown users are detected later. */
function membersOf(value: unknown): string[] {
  if (value === null || value === undefined) return []
  return (Array.isArray(value) ? value : [value]).map((item) => {
    const name = isObject(item) ? spelled('value', Object.keys(item)) : undefined
    const memberId = isObject(item) ? item[name ?? ''] : item
    if (typeof memberId !== 'string')
      return failScim('invalidValue', 'members: each member must have a value, which is the id of a user')
    return userOf(memberId)
  })
}
const userOf = (memberId: string): string =>
  decodeId('user', memberId) ?? failScim('invalidValue', `members: "${memberId.slice(0, 64)}" is not the id of a user`)

function setName(change: GroupChange, name: string, value: unknown): void {
  if (name === 'externalId') change.externalId = attributeText(name, value, longest.externalId)
  else if (name === 'displayName')
    change.displayName =
      attributeText(name, value, longest.displayName) ?? failScim('invalidValue', 'displayName: is required')
}

export function readGroup(body: object): GroupChange & { displayName: string; members: Set<string> } {
  const change: GroupChange = noChange()
  for (const [name, value] of settableOf(groupKind, body))
    if (name === 'members') change.members = new Set(membersOf(value))
    else setName(change, name, value)
  const { displayName = failScim('invalidValue', 'displayName: is required'), members = new Set() } = change
  return requireFew({ ...change, displayName, members })
}

/** Combines the operations of a PATCH in order, without reading the group's members. */
export function patchGroup(patch: ScimPatch): GroupChange {
  const change = noChange()
  const add = (users: readonly string[]) => {
    for (const user of users) {
      change.removed.delete(user)
      if (change.members) change.members.add(user)
      else change.added.add(user)
    }
  }
  const take = (users: readonly string[]) => {
    for (const user of users) {
      change.added.delete(user)
      if (change.members) change.members.delete(user)
      else change.removed.add(user)
    }
  }
  const setAll = (users: readonly string[]) => {
    change.members = new Set(users)
    change.added.clear()
    change.removed.clear()
  }
  for (const { op, path, value } of operationsOf(groupKind, patch)) {
    const target = readPath(groupKind, path)
    if (target.is === 'ignored') continue
    if (target.is === 'readOnly') failScim('mutability', `${target.name}: is set by the server and cannot be changed`)
    if (target.name !== 'members') {
      if (op === 'remove' && target.name === 'displayName') failScim('mutability', 'displayName: is required')
      setName(change, target.name, op === 'remove' ? null : value)
    } else if (op === 'remove') {
      const memberIds = target.filter ? chosenBy(target) : membersOf(value)
      // Entra ID names the members to remove in the value. Without filter and value, all members are removed.
      if (target.filter || (value !== undefined && value !== null)) take(memberIds)
      else setAll([])
    } else if (target.filter || target.sub !== undefined)
      failScim('invalidPath', 'path: members can only be added or removed, not changed')
    else if (op === 'add') add(membersOf(value))
    else setAll(membersOf(value))
  }
  return requireFew(change)
}

function requireFew<C extends GroupChange>(change: C): C {
  if ((change.members?.size ?? 0) + change.added.size + change.removed.size > mostMembers.given)
    failScim('invalidValue', `members: one request can name at most ${mostMembers.given}`)
  return change
}

/** members[value eq "…"], or several joined by `or`. */
function chosenBy({ filter, sub }: PatchTarget): string[] {
  if (!filter || sub !== undefined)
    return failScim('invalidPath', 'path: remove a member as a whole, without a sub-attribute')
  const walk = (f: ScimFilter): string[] => {
    if (f.kind === 'or') return [...walk(f.left), ...walk(f.right)]
    if (f.kind !== 'compare' || f.op !== 'eq' || f.path.toLowerCase() !== 'value' || typeof f.value !== 'string')
      return failScim('invalidFilter', 'path: members can only be selected by value eq')
    const user = decodeId('user', f.value)
    return user === undefined ? [] : [user]
  }
  return walk(filter)
}
