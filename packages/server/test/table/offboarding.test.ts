import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Tx } from '../../src/db/database.ts'
import { jobSource, type TenantId } from '../../src/kernel/actor.ts'
import type { Gateways } from '../../src/modules/gateways/index.ts'
import type { Identity } from '../../src/modules/identity/index.ts'
import {
  createOffboarding,
  type EndVpnSessions,
  type Offboarding,
  type OffboardingParts,
} from '../../src/modules/offboarding/index.ts'

const src = join(import.meta.dirname, '../../src')
const files = globSync('**/*.ts', { cwd: src })
  .filter((file) => !file.endsWith('.test.ts'))
  .sort()
const read = (file: string) => readFileSync(join(src, file), 'utf8')
const moduleOf = (file: string) => /^modules\/(\w+)\//.exec(file)?.[1]

const ada = { user_id: 'ada', username: 'ada' }
const bob = { user_id: 'bob', username: 'bob' }
const tx = {} as Tx
const source = jobSource('tenant' as TenantId, 'test')
/** Each stop, and the parts that it ends, in this order. */
const stops: Readonly<Record<keyof Offboarding, [(of: Offboarding) => Promise<unknown>, readonly string[]]>> = {
  cutAccess: [
    (of) => of.cutAccess(tx, source, [ada, bob], 'left', [bob]),
    [
      ...['roles: ada bob', 'second_factors: ada bob', 'linked_accounts: bob', 'api_keys: ada bob'],
      ...['enrollment_tokens: ada bob', 'devices: ada bob', 'certificates: ada bob', 'vpn_sessions: ada bob revoked'],
      'admin_sessions: ada bob',
    ],
  ],
  cutSuspended: [
    (of) => of.cutSuspended(tx, source, [ada, bob]),
    ['certificates: ada bob', 'vpn_sessions: ada bob suspended', 'admin_sessions: ada bob'],
  ],
  cutDevices: [
    (of) => of.cutDevices(tx, source, ['laptop'], 'revoked'),
    ['certificates: laptop', 'vpn_sessions: laptop revoked'],
  ],
  endCredentials: [
    (of) => of.endCredentials(tx, source, ada, 'recovered'),
    ['second_factors: ada', 'linked_accounts: ada', 'keys_made: ada', 'enrollment_tokens: ada'],
  ],
}

/** Each part notes that it was ended, and of whom. */
function noting(noted: string[]): OffboardingParts {
  const note = (part: string, ids: readonly string[], more = '') => noted.push(`${part}: ${ids.join(' ')}${more}`)
  const ofUsers =
    (part: string): OffboardingParts['roles'] =>
    async (_tx, _source, users) => {
      note(
        part,
        users.map((user) => user.user_id),
      )
      return { count: users.length, changes: [{ kind: 'user', subject: part }] }
    }
  return {
    roles: ofUsers('roles'),
    second_factors: ofUsers('second_factors'),
    linked_accounts: ofUsers('linked_accounts'),
    api_keys: ofUsers('api_keys'),
    enrollment_tokens: ofUsers('enrollment_tokens'),
    devices: ofUsers('devices'),
    admin_sessions: ofUsers('admin_sessions'),
    keys_made: async (_tx, _source, { userId }) => {
      note('keys_made', [userId])
      return { keys: [{ kind: 'api_key', subject: 'key' }], tokens: [{ kind: 'enrollment_token', subject: 'token' }] }
    },
    certificates: async (_tx, _tenant, { userIds = [], deviceIds = [] }) =>
      void note('certificates', [...userIds, ...deviceIds]),
    vpn_sessions: async (_tx, _source, { userIds = [], deviceIds = [] }, reason) => {
      note('vpn_sessions', [...userIds, ...deviceIds], ` ${reason}`)
      return { vpn_sessions: 7 }
    },
  }
}

test('modules/offboarding: each way ends its parts in order, and every part is ended by some way', async () => {
  const parts = Object.keys(noting([]))
  const ended = new Set<string>()
  for (const [name, [stop, expected]] of Object.entries(stops)) {
    const noted: string[] = []
    await stop(createOffboarding(() => noting(noted)))
    assert.deepEqual(noted, expected, name)
    for (const line of noted) ended.add(line.replace(/:.*/, ''))
  }
  assert.deepEqual([...ended].sort(), parts.sort())
  const of = createOffboarding(() => noting([]))
  const { counts, changes } = await of.cutAccess(tx, source, [ada, bob], 'left', [bob])
  assert.deepEqual(
    [counts.roles, counts.linked_accounts, counts.vpn_sessions, counts.admin_sessions, changes.length],
    [2, 1, 7, 2, 7],
  )
  const credentials = await of.endCredentials(tx, source, ada, 'recovered')
  assert.deepEqual([credentials.counts.api_keys, credentials.counts.enrollment_tokens], [1, 2])
})

test('modules/offboarding: an empty list ends nothing', async () => {
  const noted: string[] = []
  const of = createOffboarding(() => noting(noted))
  await of.cutAccess(tx, source, [], 'left')
  await of.cutSuspended(tx, source, [])
  assert.deepEqual(noted, [])
})

/** Files that use a statement of this kind without stopping a user or device. */
const others: Readonly<Record<string, string>> = {
  'modules/identity/people/recovery.ts moveStatus': 'lets the emergency account in again',
}

test('statements that stop users or devices are used only where modules/offboarding is called', () => {
  const stopping = files
    .filter((file) => /^modules\/.*\.queries\.ts$/.test(file))
    .flatMap((file) =>
      read(file)
        .split(/^(?=export )/m)
        .filter((text) => /updateTable\('(?:users|devices)'\)|\bupdate (?:users|devices)\b/.test(text))
        .filter((text) => /\.set\(\{[^}]*\b(?:status|deleted_at):|\bset [^`]*?\b(?:status|deleted_at) = /.test(text))
        .map((text) => ({ file, name: /^export (?:const|async function|function) (\w+)/.exec(text)?.[1] ?? '' })),
    )
  assert.deepEqual(stopping.map(({ name }) => name).sort(), [
    'moveDevices',
    'moveStatus',
    'revokeOfUsers',
    'softDelete',
    'updateUsers',
  ])
  const seen = new Set<string>()
  const bad = stopping.flatMap(({ file, name }) =>
    files
      .filter((other) => moduleOf(other) === moduleOf(file) && !other.endsWith('.queries.ts'))
      .filter((other) => new RegExp(`\\b${name}\\b`).test(read(other)))
      .flatMap((other) => {
        seen.add(`${other} ${name}`)
        if (`${other} ${name}` in others) return []
        return /\boffboarding\.cut\w+\(/.test(read(other)) ? [] : [`${other} uses ${name}`]
      }),
  )
  assert.deepEqual(bad, [])
  assert.deepEqual(
    Object.keys(others).filter((each) => !seen.has(each)),
    [],
  )
  assert.ok(seen.size >= 7, [...seen].join())
})

test('only the composition root passes the parts, and only to modules/offboarding', () => {
  /** The functions of the public APIs that end a part, and their modules. */
  const keepers: Readonly<Record<string, string>> = {
    endAccess: 'identity',
    endLinksOf: 'federation',
    endKeysOf: 'access',
    endTokensOf: 'enrollment',
    endDevicesOf: 'devices',
    revokeOf: 'certificates',
    endVpnSessions: 'gateways',
  }
  const uses = Object.entries(keepers).flatMap(([name, keeper]) =>
    files
      .filter((file) => moduleOf(file) !== keeper && new RegExp(`\\.${name}\\b`).test(read(file)))
      .map((file) => `${file} ${name}`),
  )
  assert.deepEqual(uses, [
    ...Object.keys(keepers).map((name) => `app/offboarding.ts ${name}`),
    // A lock ends sessions, and is released again.
    'modules/locks/locks.ts endVpnSessions',
  ])
})

/** The functions that end sessions, or more. Their types are incompatible. */
type Ending = Offboarding & {
  endVpnSessions: EndVpnSessions
  endProviderSessions: Identity['people']['endProviderSessions']
  endAdminSessions: Identity['endAdminSessions']
}
type Fits = {
  [To in keyof Ending]: { [From in keyof Ending]: Ending[From] extends Ending[To] ? From : never }[keyof Ending]
}
/** Compiles only where each fits its own place alone. */
const itself: { [To in keyof Ending]: [Fits[To]] extends [To] ? To : never } = {
  cutAccess: 'cutAccess',
  cutSuspended: 'cutSuspended',
  cutDevices: 'cutDevices',
  endCredentials: 'endCredentials',
  endVpnSessions: 'endVpnSessions',
  endProviderSessions: 'endProviderSessions',
  endAdminSessions: 'endAdminSessions',
}

test('functions that end sessions have incompatible types', () => {
  assert.equal(new Set(Object.values(itself)).size, Object.keys(itself).length)
  const swapped = (gateways: Gateways, identity: Identity, offboarding: Offboarding) => [
    gateways.endVpnSessions satisfies EndVpnSessions,
    // @ts-expect-error: it would revoke certificates for good where a lock ends sessions.
    offboarding.cutDevices satisfies EndVpnSessions,
    // @ts-expect-error: the same of users.
    offboarding.cutAccess satisfies EndVpnSessions,
    // @ts-expect-error: it ends sessions of administrators, not of devices.
    identity.endAdminSessions satisfies EndVpnSessions,
    // @ts-expect-error: it ends the sessions that a provider opened.
    identity.people.endProviderSessions satisfies EndVpnSessions,
    // @ts-expect-error: it leaves certificates good where devices are stopped for good.
    gateways.endVpnSessions satisfies Offboarding['cutDevices'],
    // @ts-expect-error: it leaves roles and credentials where users are deleted.
    offboarding.cutSuspended satisfies Offboarding['cutAccess'],
    // @ts-expect-error: it ends all sessions of users where only those of a provider end.
    identity.endAdminSessions satisfies Identity['people']['endProviderSessions'],
    // @ts-expect-error: and the other way round.
    identity.people.endProviderSessions satisfies Identity['endAdminSessions'],
  ]
  assert.equal(swapped.length, 3)
})
