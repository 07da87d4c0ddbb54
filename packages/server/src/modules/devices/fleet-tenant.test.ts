import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TenantId } from '../../kernel/actor.ts'
import { everything } from '../../replication/changes.ts'
import type { FleetRow } from './fleet.queries.ts'
import { FleetTenant } from './fleet-tenant.ts'

const user = (user_id: string, suspended: boolean, seq: number, group_ids: string[] = []) => ({
  user_id,
  state: suspended ? ('suspended' as const) : ('active' as const),
  mfa_at: null,
  group_ids,
  seq,
})
const device = (more: Partial<FleetRow> = {}): FleetRow => ({
  device_id: 'd',
  user_id: 'anna',
  name: 'laptop',
  platform: 'linux',
  client_version: null,
  os_version: null,
  arch: null,
  status: 'active',
  channel: 'auto',
  tags: [],
  group_ids: [],
  jkt: null,
  previous_jkt: null,
  generation: 1,
  previous_generation_until: null,
  wireguard_public_key: null,
  previous_wireguard_public_key: null,
  previous_wireguard_until: null,
  locked_by: null,
  address_number: 1,
  credential_expires_at: new Date(0),
  facts: null,
  reported_at: null,
  verdict: null,
  seq: 1,
  ...more,
})
const fleet = () => new FleetTenant('t' as TenantId)

test('the state of a device follows changes of its user', () => {
  const t = fleet()
  t.putUser(user('anna', false, 1, ['g']))
  t.putDevice(device())
  const held = t.devices.get('d')!
  assert.deepEqual([held.usable, held.groupIds, held.seq], [true, ['g'], 1])
  held.selected = { by: {}, slot: { variant: null, isUsed: false }, from: 0, until: 1 }
  t.putUser(user('anna', true, 7))
  assert.deepEqual([held.usable, held.isSuspended, held.groupIds, held.seq], [false, true, [], 7])
  assert.equal(held.selected, null, 'the selection for the former user')
})

test('a device whose new user is not loaded is unusable until the user is loaded', () => {
  const t = fleet()
  t.putUser(user('anna', false, 1))
  t.putDevice(device())
  t.putDevice(device({ user_id: 'ben', seq: 2 }))
  assert.deepEqual([t.devices.get('d')!.usable, t.isTrue, [...t.stale.users.keys()]], [false, false, ['ben']])
  t.settle(t.stale, [user('ben', false, 2)], [])
  assert.deepEqual([t.devices.get('d')!.usable, t.isTrue], [true, true])
  assert.deepEqual([t.devicesOfUser('anna'), t.devicesOfUser('ben')], [[], ['d']])
})

test('a change during a reload makes its subject stale again', () => {
  const t = fleet()
  t.putUser(user('anna', false, 1))
  t.putDevice(device())
  t.touch([{ kind: 'user', subject: 'anna' }])
  const reading = t.stale
  t.touch([{ kind: 'user', subject: 'anna' }])
  t.settle(reading, [user('anna', false, 1)], [])
  assert.equal(t.isTrueOf('d', t.devices.get('d')), false)
  t.settle(t.stale, [user('anna', true, 2)], [])
  assert.deepEqual([t.isTrue, t.devices.get('d')!.usable], [true, false])
})

test('a device that is not found again is removed, and its user is no longer held for it', () => {
  const t = fleet()
  t.putUser(user('anna', false, 1))
  t.putDevice(device())
  t.touch([{ kind: 'device', subject: 'd' }])
  t.settle(t.stale, [], [])
  assert.equal(t.devices.size, 0)
  assert.equal(t.touch([{ kind: 'user', subject: 'anna' }]) && t.isTrue, true)
})

test('a user that is not found again is deleted: its devices are out, and keep nothing of its groups', () => {
  const t = fleet()
  t.putUser(user('anna', false, 1, ['g']))
  t.putDevice(device())
  const held = t.devices.get('d')!
  held.selected = { by: {}, slot: { variant: null, isUsed: false }, from: 0, until: 1 }
  t.touch([{ kind: 'user', subject: 'anna' }])
  t.settle(t.stale, [], [])
  assert.deepEqual([t.isTrue, held.usable, held.groupIds, held.selected], [true, false, [], null])
  assert.equal(held.effectiveStatusAt(-1), 'user_deleted')
  t.touch([{ kind: 'user', subject: 'anna' }])
  t.settle(t.stale, [user('anna', false, 3)], [])
  assert.equal(held.usable, true, 'until it is found')
})

test('a change of all users reloads each user in batches, and no device', () => {
  const t = fleet()
  const ids = Array.from({ length: 5001 }, (_, n) => `user-${n}`)
  for (const id of ids) {
    t.putUser(user(id, false, 1))
    t.putDevice(device({ device_id: `d-${id}`, user_id: id }))
  }
  assert.equal(t.touch([{ kind: 'user', subject: everything }]), true)
  assert.ok(ids.every((id) => !t.isTrueOf(`d-${id}`, t.devices.get(`d-${id}`))))
  const read: string[] = []
  while (!t.isTrue) {
    const { stale } = t
    assert.ok(stale.users.size <= 5000 && stale.devices.size === 0)
    read.push(...stale.users.keys())
    const rows = Array.from(stale.users.keys(), (id) => user(id, id === 'user-5000', 2))
    t.settle(stale, rows, [])
  }
  assert.deepEqual(read, ids)
  assert.deepEqual(
    [t.devices.get('d-user-0')?.usable, t.devices.get('d-user-5000')?.usable, t.devices.size],
    [true, false, 5001],
  )
})

test('a change of all devices reloads the tenant; a policy change keeps it and makes it stale', () => {
  const t = fleet()
  assert.equal(t.touch([{ kind: 'device', subject: everything }]), false)
  assert.equal(t.touch([{ kind: 'policy', subject: everything }]), true)
  assert.equal(t.isTrue, false)
})
