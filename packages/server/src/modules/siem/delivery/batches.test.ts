import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAdaptiveBatch, mostEvents } from './batches.ts'

const eventAt = (seq: number, text: string) => ({ seq, eventId: 'evt', kind: 'user.changed', at: new Date(0), text })
const idOf = (...texts: string[]) =>
  createAdaptiveBatch({ batch_events: mostEvents, is_slow: false }).next(
    'sie_1',
    texts.map((text, i) => eventAt(i + 1, text)),
  ).id

test('equal events have the same batch id, and other texts under the same numbers another one', () => {
  const id = idOf('{"a":1}', '{"b":2}')
  assert.match(id, /^sie_1\.1-2\.[0-9a-f]{16}$/)
  assert.equal(idOf('{"a":1}', '{"b":2}'), id)
  // A restored audit log issues the same sequence numbers again, and the format of a connector may change.
  assert.notEqual(idOf('{"a":1}', '{"b":3}'), id)
  assert.notEqual(idOf('CEF:0|a', 'CEF:0|b'), id)
})
