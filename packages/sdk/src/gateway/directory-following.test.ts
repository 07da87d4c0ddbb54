import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startControl } from '../../test/support/device-control-plane.ts'
import type { Answered } from '../../test/support/scripted-server.ts'
import { type GatewayDirectory, openDevice } from '../index.ts'

const path = '/v1/gateway/pools'
const pool = (name: string) => ({
  pool_id: 'gwp_a',
  name,
  region: { code: 'eu' },
  protocol: 'wireguard',
  selection: 'latency',
  mtu: 1420,
  dns: [],
  keepalive_seconds: 25,
  routes: [],
  resources: [],
  gateways: [],
})
type Control = Awaited<ReturnType<typeof startControl>>
const signed = async (control: Control, name: string, more: object = {}): Promise<Answered> => ({
  headers: { etag: `"${name}"` },
  body: {
    directory: await control.issuer.directory({ pools: [pool(name)], ...more }),
    digest: '',
    seq: 0,
    ttl_seconds: 60,
  },
})
const names = (directory: GatewayDirectory | null) => directory?.pools.map((p) => p.name) ?? null

test('following brings each directory once, survives what fails, and tells again what could not be applied', async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  const asked: unknown[] = []
  const answers: Answered[] = [
    await signed(control, 'a', { seq: 5 }),
    { status: 500, body: { error: 'internal_error', detail: 'x' } },
    await signed(control, 'old', { seq: 4 }),
    await signed(control, 'a', { seq: 6 }),
    await signed(control, 'b', { seq: 7 }),
  ]
  control.instead[path] = ({ headers }) => {
    asked.push([headers['if-none-match'], headers.prefer])
    return answers.shift() ?? { status: 304 }
  }
  const stop = new AbortController()
  const seen: (string[] | null)[] = []
  const errors: string[] = []
  await device.followDirectory({
    signal: stop.signal,
    onDirectory: (directory) => {
      seen.push(names(directory))
      if (seen.length === 1) throw new Error('the tunnel is not up yet')
      if (names(directory)?.[0] === 'b') stop.abort()
    },
    onError: (e) => errors.push((e as { code?: string; message: string }).code ?? (e as Error).message),
  })
  assert.deepEqual(seen, [['a'], ['a'], ['b']])
  assert.deepEqual(errors, ['the tunnel is not up yet', 'internal_error'])
  assert.deepEqual(asked.slice(0, 2), [
    [undefined, 'wait=192'],
    ['"a"', 'wait=192'],
  ])
})

test('a replica that is behind is asked again in a second, without a word; one that stays behind is told of', async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  const times: number[] = []
  const waits: unknown[] = []
  const [fresh, old] = [await signed(control, 'a', { seq: 5 }), await signed(control, 'old', { seq: 4 })]
  control.instead[path] = ({ headers }) => {
    times.push(performance.now())
    waits.push(headers.prefer)
    return times.length === 1 ? fresh : old
  }
  const stop = new AbortController()
  const seen: (string[] | null)[] = []
  const errors: unknown[] = []
  await device.followDirectory({
    signal: stop.signal,
    onDirectory: (directory) => void seen.push(names(directory)),
    onError: (e) => {
      errors.push(e)
      stop.abort()
    },
  })
  assert.deepEqual([seen, names(device.directory)], [[['a']], ['a']])
  assert.deepEqual([errors.length, (errors[0] as { code: string }).code], [1, 'rollback'])
  assert.equal(times.length, 6, 'four were borne')
  assert.deepEqual(waits.slice(2), [undefined, undefined, undefined, undefined], 'none of them is held')
  for (const [i, at] of times.entries())
    if (i > 1) assert.ok(at - (times[i - 1] ?? 0) >= 790, `asked again after ${at - (times[i - 1] ?? 0)} ms`)
})

test('a directory is in force again after a restart, until its own end, and nothing older is taken then', async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  const exp = Math.floor(control.clock.now.getTime() / 1000) + 100
  control.instead[path] = () => signed(control, 'a', { seq: 5, exp })
  await device.fetchDirectory()
  const options = { now: () => control.clock.now }
  const again = openDevice(device.state, options)
  assert.deepEqual(names(again.directory), ['a'])
  const { directory: saved } = device.state
  const forged = { ...device.state, directory: { ...saved!, jws: saved!.jws.replace(/.{8}$/, 'AAAAAAAA') } }
  assert.equal(openDevice(forged, options).directory, null)

  control.clock.now = new Date(exp * 1000)
  assert.equal(again.directory, null)
  const later = openDevice(device.state, options)
  assert.equal(later.directory, null)
  control.instead[path] = () => signed(control, 'old', { seq: 4, exp: exp + 100 })
  await assert.rejects(later.fetchDirectory(), { name: 'VerificationError', code: 'rollback' })
})
