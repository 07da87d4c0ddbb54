import type { Input } from '@holdfast/contract'
import type { ingestDirectorySnapshot } from '@holdfast/contract/directory'
import type { Client } from '@holdfast/sdk'
import type { Kit } from '../deployment/deployment.ts'

type Snapshot = Input<typeof ingestDirectorySnapshot>['body']
export type User = Snapshot['users'][number]
export type Group = Snapshot['groups'][number]

let count = 0
/** A snapshot newer than all before it. */
export const snapshotOf = (users: User[], groups: Group[] = [], more: Partial<Snapshot> = {}): Snapshot => ({
  provider: 'corp',
  snapshot_id: `snapshot-${++count}`,
  generated_at: new Date(Date.now() - 3_600_000 + count * 1000).toISOString(),
  full: true,
  users,
  groups,
  ...more,
})
export const person = (n: number | string, more: Partial<User> = {}): User => ({
  externalId: `u-${n}`,
  userName: `person${n}`,
  displayName: `Person ${n}`,
  emails: [`person${n}@example.com`],
  ...more,
})
export const people = (n: number, from = 0): User[] => Array.from({ length: n }, (_, i) => person(from + i))
export const group = (name: string, members: readonly User[]): Group => ({
  externalId: `g-${name}`,
  displayName: name,
  members: members.map((u) => u.externalId),
})

export const push = (client: Client, body: Snapshot) => client.ingestDirectorySnapshot({ body })
/** The user that an entry has become. */
export const userOf = async (kit: Kit, { userName }: User) =>
  (await kit.admin.listUsers({ query: { q: userName, limit: 200 } })).items.find((u) => u.username === userName)
