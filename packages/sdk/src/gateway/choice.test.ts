import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DirectoryGateway, DirectoryPool } from '../verify/directory-verifier.ts'
import { chooseGateway } from './choice.ts'

const gateway = (gateway_id: string, more: Partial<DirectoryGateway> = {}): DirectoryGateway => ({
  gateway_id,
  name: gateway_id,
  endpoints: [],
  public_key: null,
  weight: 100,
  status: 'healthy',
  standby: false,
  ...more,
})
const pool = (
  name: string,
  gateways: DirectoryGateway[],
  region: Partial<DirectoryPool['region']> = {},
): DirectoryPool => ({
  pool_id: name,
  name,
  region: { code: name, ...region },
  protocol: 'wireguard',
  selection: 'weighted',
  mtu: 1420,
  dns: [],
  keepalive_seconds: 0,
  routes: [],
  resources: [],
  gateways,
})
const devices = Array.from({ length: 3000 }, (_, i) => `dev_${i}`)
const choices = (pools: DirectoryPool[]) =>
  devices.map((deviceId) => chooseGateway(pools, { deviceId })?.gateway.gateway_id)
const share = (chosen: readonly (string | undefined)[], id: string) =>
  chosen.filter((c) => c === id).length / chosen.length

test('devices are spread by weight, and each device always gets the same gateway', () => {
  const pools = [pool('p', [gateway('a', { weight: 300 }), gateway('b'), gateway('c', { weight: 0 })])]
  const chosen = choices(pools)
  assert.ok(Math.abs(share(chosen, 'a') - 0.75) < 0.03, `${share(chosen, 'a')}`)
  assert.equal(share(chosen, 'c'), 0)
  assert.deepEqual(choices(pools), chosen)
  const shuffled = [pool('p', pools[0]!.gateways.toReversed())]
  assert.deepEqual(choices(shuffled), chosen, 'in any order of the gateways')
  const idle = choices([pool('p', [gateway('c', { weight: 0 }), gateway('d', { weight: 0 })])])
  assert.ok(Math.abs(share(idle, 'c') - 0.5) < 0.05)
})

test('when a gateway is removed only its own devices move', () => {
  const all = ['a', 'b', 'c', 'd'].map((id) => gateway(id))
  const before = choices([pool('p', all)])
  const after = choices([
    pool(
      'p',
      all.filter((g) => g.gateway_id !== 'b'),
    ),
  ])
  for (const [i, id] of before.entries()) if (id !== 'b') assert.equal(after[i], id)
  assert.ok(after.every((id) => id !== 'b'))
})

test('a connected device stays at its gateway, and moves when that is no longer offered', () => {
  const device = { deviceId: 'dev_1', current: 'b' }
  const chosen = (gateways: DirectoryGateway[]) => chooseGateway([pool('p', gateways)], device)?.gateway.gateway_id
  assert.equal(chosen([gateway('a', { weight: 1000 }), gateway('b', { weight: 1, standby: true })]), 'b')
  assert.equal(chosen([gateway('a'), gateway('c', { standby: true })]), 'a')
  assert.equal(chosen([gateway('c', { standby: true })]), 'c')
  assert.equal(chosen([]), undefined)
})

test('if all gateways stand by, devices spread over the healthiest', () => {
  const back = { standby: true }
  const chosen = choices([
    pool('p', [gateway('a', back), gateway('b', back), gateway('c', { ...back, status: 'degraded' })]),
  ])
  assert.ok(Math.abs(share(chosen, 'a') - 0.5) < 0.05, `${share(chosen, 'a')}`)
  assert.equal(share(chosen, 'c'), 0)
})

test('a device with a position gets the nearest pool that serves', () => {
  const frankfurt = pool('fra', [gateway('a')], { lat: 50.1, lon: 8.7 })
  const tokyo = pool('tyo', [gateway('b')], { lat: 35.7, lon: 139.7 })
  const nowhere = pool('nowhere', [gateway('c')])
  const from = (lat: number, lon: number, pools = [nowhere, frankfurt, tokyo]) =>
    chooseGateway(pools, { deviceId: 'dev_1', position: { lat, lon } })?.pool.name
  assert.equal(from(48.8, 2.3), 'fra')
  assert.equal(from(37.5, 127), 'tyo')
  assert.equal(from(52.5, -179.9, [frankfurt, tokyo]), 'tyo', 'across the date line')
  const standing = { ...frankfurt, gateways: [gateway('a', { standby: true })] }
  assert.equal(from(48.8, 2.3, [standing, tokyo]), 'tyo')
  assert.equal(chooseGateway([nowhere, frankfurt], { deviceId: 'dev_1' })?.pool.name, 'nowhere')
})
