import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askedOf, questionOf, searchOf } from './question.ts'

test('the address keeps a question', () => {
  const search = {
    ...{ ask: 'who', device_id: 'dev_1', target: 'wiki:tcp/443', at: '2026-01-31T09:30:00Z' },
    ...{ source_ip: '192.0.2.1', country: 'DE', mfa: '90', under: 'canary', against: 'stable' },
  }
  const kept = Object.fromEntries(
    Object.entries(searchOf(questionOf(search))).filter(([, value]) => value !== undefined),
  )
  assert.deepEqual(kept, search)
})

test('a question needs a subject and a target', () => {
  assert.equal(askedOf(questionOf({ target: 'wiki' }), 0), undefined)
  assert.equal(askedOf(questionOf({ user_id: 'usr_1', target: ' ' }), 0), undefined)
  assert.deepEqual(askedOf(questionOf({ user_id: 'usr_1', target: 'wiki', country: 'de', mfa: '2' }), 120_000), {
    ...{ user_id: 'usr_1', target: 'wiki', country: 'DE', mfa_at: '1970-01-01T00:00:00.000Z' },
  })
})
