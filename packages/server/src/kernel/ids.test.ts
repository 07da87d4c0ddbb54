import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeId, encodeId, newRequestId, newUuid } from './ids.ts'

test('ids match the examples of the TypeID specification', () => {
  assert.equal(encodeId('user', '00000000-0000-0000-0000-000000000001'), 'usr_00000000000000000000000001')
  assert.equal(encodeId('user', '0110c853-1d09-52d8-d73e-1194e95b5f19'), 'usr_0123456789abcdefghjkmnpqrs')
  assert.equal(encodeId('user', 'ffffffff-ffff-ffff-ffff-ffffffffffff'), 'usr_7zzzzzzzzzzzzzzzzzzzzzzzzz')
})

test('every UUID is encoded and decoded back', () => {
  fc.assert(fc.property(fc.uuid(), (uuid) => assert.equal(decodeId('device', encodeId('device', uuid)), uuid)))
})

test('an id of another kind, case, alphabet or size is refused', () => {
  const id = encodeId('device', newUuid())
  for (const bad of [
    id.replace('dev_', 'usr_'),
    id.toUpperCase(),
    id.slice(0, -1),
    `${id}0`,
    `dev_8${id.slice(5)}`,
    `dev_${'l'.repeat(26)}`,
    'dev_',
    '',
    `dev_${newUuid()}`,
  ])
    assert.equal(decodeId('device', bad), undefined, bad)
  fc.assert(fc.property(fc.string(), (text) => assert.equal(decodeId('device', text), undefined)))
})

test('later ids sort after earlier ones', () => {
  const ids = Array.from({ length: 1000 }, newUuid)
  assert.deepEqual([...ids].sort(), ids)
})

test('request ids are unique', () => {
  const ids = Array.from({ length: 10_000 }, newRequestId)
  assert.equal(new Set(ids).size, ids.length)
  for (const id of ids) assert.match(id, /^[0-9a-f]{32}$/)
})
