import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract } from '@holdfast/contract'
import { startServer } from '../../test/support/scripted-server.ts'
import { createSender } from '../send.ts'
import { createMeter, type MeterCall, type MeteringSample } from './metering.ts'
import { createSessions } from './sessions.ts'

const bytes = (rx_bytes: number, tx_bytes = 0) => ({ rx_bytes, tx_bytes })
const resource = (name: string, rx: number, tx = 0) => ({ resource: name, ...bytes(rx, tx) })

test('bytes by resource are counted as those of the interface are, and by the next process too', async () => {
  const texts = new Map<string, string>()
  const reported: MeteringSample[] = []
  const open = () =>
    createSessions({
      meter: async (samples, { onKept }: MeterCall) => {
        reported.push(...samples)
        await onKept?.()
        return { accepted: samples.length, duplicate: 0, rejected: [], unknown_resources: [] }
      },
      store: {
        load: async (name) => texts.get(name),
        save: async (name, text) => void (text === null ? texts.delete(name) : texts.set(name, text)),
        list: async () => [...texts.keys()],
      },
      onStoreError: assert.ifError,
      now: () => new Date(),
    })
  const first = open()
  const { session_id } = first.start({ device_id: 'dev_1' }, { ...bytes(0), resources: { wiki: bytes(100) } })
  first.count(session_id, { ...bytes(9), resources: { wiki: bytes(150, 7), git: bytes(3), constructor: bytes(1) } })
  await first.report()
  first.count(session_id, { ...bytes(9), resources: { wiki: bytes(150, 8) } })
  await first.report()

  const second = open()
  await second.restore()
  assert.deepEqual(Object.keys(second.running[0] ?? {}).sort(), ['device_id', 'session_id', 'started_at'])
  second.count(session_id, bytes(9))
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`r-${i}`, bytes(1)]))
  // The counter of the wiki was reset; of a hundred more resources 61 fit.
  second.end(session_id, 'device_gone', { ...bytes(9), resources: { wiki: bytes(5), ...many } })
  await second.report()
  const said = reported.map(({ resources }) => resources)
  assert.deepEqual(said.slice(0, 2), [
    [resource('wiki', 50, 7), resource('git', 3), resource('constructor', 1)],
    [resource('wiki', 0, 1)],
  ])
  assert.deepEqual([said[2]?.[0], said[2]?.length], [resource('wiki', 5), 62])
})

test('packets that the policy refused are counted from what the packet filter showed at the start', async () => {
  const reported: MeteringSample[] = []
  const sessions = createSessions({
    meter: async (samples) => {
      reported.push(...samples)
      return { accepted: samples.length, duplicate: 0, rejected: [], unknown_resources: [] }
    },
    store: undefined,
    onStoreError: assert.ifError,
    now: () => new Date(),
  })
  const { session_id } = sessions.start({ device_id: 'dev_1' }, { ...bytes(0), denied_packets: 40 })
  for (const denied_packets of [42, 42, 45, 3]) {
    sessions.count(session_id, { ...bytes(0), denied_packets })
    await sessions.report()
  }
  sessions.count(session_id, bytes(1))
  await sessions.report()
  assert.deepEqual(
    reported.map(({ denied_packets }) => denied_packets),
    [2, 0, 3, 3, undefined],
  )
})

test('a report is no larger than the control plane takes, whatever its samples name', async (t) => {
  const { asked, baseUrl } = await startServer(t, ({ body }) => {
    const n = (body as { samples: unknown[] }).samples.length
    const rejected = [{ index: n - 1, error: 'the last of each' }]
    return { body: { accepted: n - 1, duplicate: 0, rejected, unknown_resources: [] } }
  })
  const { meter } = createMeter(createSender({ baseUrl, credential: 'hfg_x' }), {
    bootId: 'b',
    now: () => new Date(),
    random: () => 0,
    query: {},
    store: undefined,
    onStoreError: assert.ifError,
  })
  const resources = Array.from({ length: 64 }, (_, i) => resource(`${i}`.padEnd(64, 'x'), 2 ** 52, 2 ** 52))
  const samples = Array.from(
    { length: 1_500 },
    (_, i): MeteringSample => ({
      session_id: 'vse_1',
      device_id: `dev_${i}`,
      state: 'active',
      ...bytes(1),
      resources,
    }),
  )
  const { accepted, rejected } = await meter(samples)
  const reports = asked.map(({ body }) => body as { samples: MeteringSample[] })
  assert.deepEqual(
    reports.flatMap((report) => report.samples),
    samples,
  )
  assert.ok(reports.length > 1)
  const { bodyLimit, bodyNames } = contract.metering
  for (const report of reports) {
    const text = JSON.stringify(report)
    assert.ok(text.length <= bodyLimit, `${text.length} bytes`)
    assert.ok((text.match(/":/g)?.length ?? 0) <= bodyNames, 'names')
  }
  assert.equal(accepted, samples.length - reports.length)
  const ends = reports.map((_, n) => reports.slice(0, n + 1).reduce((sum, r) => sum + r.samples.length, 0) - 1)
  assert.deepEqual(
    rejected.map(({ index }) => index),
    ends,
  )
})
