import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MeterCall, MeteringSample } from './gateway-metering.ts'
import { createSessions } from './gateway-sessions.ts'

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
        return { accepted: samples.length, duplicate: false, rejected: [], unknown_resources: [] }
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
  // The counter of the wiki was set back; of a hundred more there is room for 61.
  second.end(session_id, 'device_gone', { ...bytes(9), resources: { wiki: bytes(5), ...many } })
  await second.report()
  const said = reported.map(({ resources }) => resources)
  assert.deepEqual(said.slice(0, 2), [
    [resource('wiki', 50, 7), resource('git', 3), resource('constructor', 1)],
    [resource('wiki', 0, 1)],
  ])
  assert.deepEqual([said[2]?.[0], said[2]?.length], [resource('wiki', 5), 62])
})
