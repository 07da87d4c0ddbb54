import type { RunCounts } from '@holdfast/contract/directory'

export const noCounts: RunCounts = {
  users: { created: 0, updated: 0, suspended: 0, reactivated: 0, unchanged: 0 },
  groups: { created: 0, updated: 0, emptied: 0, unchanged: 0 },
  memberships: { added: 0, removed: 0 },
}
/** Changes made by one push. */
export type Pushed = {
  users?: Partial<RunCounts['users']>
  groups?: Partial<RunCounts['groups']>
  memberships?: Partial<RunCounts['memberships']>
}

const sum = <T extends Record<string, number>>(counts: T, more: Partial<T> = {}): T =>
  Object.fromEntries(Object.entries(counts).map(([name, n]) => [name, n + (more[name] ?? 0)])) as T

export const withPushed = (counts: RunCounts, { users, groups, memberships }: Pushed): RunCounts => ({
  users: sum(counts.users, users),
  groups: sum(counts.groups, groups),
  memberships: sum(counts.memberships, memberships),
})
