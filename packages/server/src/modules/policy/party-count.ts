import { namedAtMost } from '@holdfast/contract/policy-reach'
import { createSlices } from '../../kernel/time-slice.ts'
import type { FleetDevice } from '../devices/index.ts'

/** Most rules listed for one user or group. */
const rulesAtMost = 10

type User = { devices: number; rules: Set<string>; groups: readonly string[] | Set<string> }
type Group = { users: number; devices: number; rules: Set<string> }
export type FoundParties = {
  counts: { devices: number; devices_without_user: number; users: number; groups: number }
  users: { id: string; devices: number; rules: string[] }[]
  groups: { id: string; users: number; devices: number; examined: number; rules: string[] }[]
}

/**
 * Counts the users, groups and devices that a condition holds for, and picks those to list: the first users, and the
 * groups with the largest share.
 */
export function createPartyCount() {
  const users = new Map<string, User>()
  const groups = new Map<string, Group>()
  const examined = new Map<string, number>()
  let [devices, withoutUser] = [0, 0]

  const groupOf = (id: string): Group => {
    const known = groups.get(id) ?? { users: 0, devices: 0, rules: new Set<string>() }
    groups.set(id, known)
    return known
  }
  const addRule = (rules: Set<string>, rule: string | undefined): void => {
    if (rule !== undefined && rules.size < rulesAtMost) rules.add(rule)
  }
  /** Devices of one user nearly always share one list of groups, which is then not copied. */
  function addUser(id: string, groupIds: readonly string[], rule: string | undefined): void {
    const user = users.get(id)
    if (!user) {
      const rules = new Set<string>()
      addRule(rules, rule)
      users.set(id, { devices: 1, rules, groups: groupIds })
      return
    }
    user.devices++
    addRule(user.rules, rule)
    if (user.groups === groupIds) return
    const all = user.groups instanceof Set ? user.groups : new Set(user.groups)
    for (const group of groupIds) all.add(group)
    user.groups = all
  }

  function firstUsers(): FoundParties['users'] {
    const first: FoundParties['users'] = []
    for (const [id, { devices, rules }] of users) {
      if (first.length === namedAtMost) break
      first.push({ id, devices, rules: [...rules] })
    }
    return first
  }

  return {
    /** `rule`: the rule that makes the condition hold. */
    examine: ({ userId, groupIds }: FleetDevice, isConcerned: boolean, rule?: string): void => {
      for (const id of groupIds) examined.set(id, (examined.get(id) ?? 0) + 1)
      if (!isConcerned) return
      devices++
      for (const id of groupIds) {
        const group = groupOf(id)
        group.devices++
        addRule(group.rules, rule)
      }
      if (userId === null) withoutUser++
      else addUser(userId, groupIds, rule)
    },

    /** Call it once only. */
    result: async (): Promise<FoundParties> => {
      const slices = createSlices()
      for (const user of users.values()) {
        for (const id of user.groups) groupOf(id).users++
        if (slices.isOver()) await slices.next()
      }
      const shareOf = (id: string, g: Group) => g.devices / (examined.get(id) ?? g.devices)
      const first: { id: string; group: Group; share: number }[] = []
      for (const [id, group] of groups) {
        const share = shareOf(id, group)
        const last = first[namedAtMost - 1]
        if (!last || isBefore({ id, group, share }, last)) {
          const at = first.findIndex((other) => isBefore({ id, group, share }, other))
          first.splice(at === -1 ? first.length : at, 0, { id, group, share })
          first.length = Math.min(first.length, namedAtMost)
        }
        if (slices.isOver()) await slices.next()
      }
      return {
        counts: { devices, devices_without_user: withoutUser, users: users.size, groups: groups.size },
        users: firstUsers(),
        groups: first.map(({ id, group }) => ({
          id,
          users: group.users,
          devices: group.devices,
          examined: examined.get(id) ?? 0,
          rules: [...group.rules],
        })),
      }
    },
  }
}

type Ranked = { id: string; group: Group; share: number }
const isBefore = (a: Ranked, b: Ranked): boolean =>
  a.share !== b.share
    ? a.share > b.share
    : a.group.users !== b.group.users
      ? a.group.users > b.group.users
      : a.id < b.id
