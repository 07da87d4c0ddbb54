import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditFieldTypes, auditKinds } from '@holdfast/contract/audit-fields'
import type { AuditFields, AuditKind } from '@holdfast/contract/vocabulary'
import fc from 'fast-check'
import { eventOf, hostileEvent, lines, texts } from './hostile.fixture.ts'
import { ocsf } from './ocsf.ts'

type Ocsf = Record<string, unknown> & { class_uid: number; activity_id: number; activity_name: string }
/** Of the schema's files: what each class requires, and which activities it knows beside 0 and 99. */
const schema: Record<number, { category: number; required: string[]; activities: number }> = {
  3002: { category: 3, required: ['user', 'service'], activities: 7 },
  3004: { category: 3, required: ['entity'], activities: 13 },
  3006: { category: 3, required: ['group'], activities: 8 },
  3007: { category: 3, required: ['user'], activities: 19 },
  6003: { category: 6, required: ['actor', 'api', 'src_endpoint'], activities: 4 },
}
function requireValid(event: Ocsf) {
  const of = schema[event.class_uid] ?? assert.fail(`class ${event.class_uid}`)
  assert.equal(event.category_uid, of.category)
  assert.equal(event.type_uid, event.class_uid * 100 + event.activity_id)
  assert.ok(event.activity_id === 99 || (event.activity_id >= 1 && event.activity_id <= of.activities))
  assert.ok(event.activity_name !== '')
  for (const name of [...of.required, 'metadata', 'severity_id', 'time', 'type_uid']) assert.ok(name in event, name)
  for (const name of ['user', 'entity', 'group'])
    if (name in event) assert.ok(Object.keys(event[name] as object).some((key) => key === 'name' || key === 'uid'))
}
const example = (kind: AuditKind): AuditFields[AuditKind] =>
  Object.fromEntries(
    [...auditFieldTypes()]
      .filter(([, { kinds }]) => kinds.includes(kind))
      .map(([name, { type }]) => [name, { string: 'text', integer: 1, boolean: true, strings: ['a'] }[type]]),
  ) as AuditFields[AuditKind]
const told = (stored: Parameters<typeof ocsf>[0]) => JSON.parse(ocsf(stored)) as Ocsf

test('every kind is an event of a class that has what the class requires', () => {
  for (const kind of auditKinds)
    for (const source of [{}, { type: 'job', id: 'prune', name: null, sourceIp: null } as const])
      requireValid(told(eventOf(kind, example(kind), source)))
})

test('sign-ins, users, groups, devices and requests are told by the words of the schema', () => {
  const types = (...all: Parameters<typeof told>[0][]) => all.map((stored) => told(stored).type_uid)
  assert.deepEqual(
    types(
      eventOf('login.succeeded', { user_id: 'usr_1', auth_method: 'password' }),
      eventOf('session.expired', { session_id: 's', user_id: 'u', reason: 'timeout' }),
      eventOf('account.locked', { username: 'ada', attempt_count: 5 }),
      eventOf('user.changed', { operation: 'suspend', user_id: 'u' }),
      eventOf('user.mfa_disabled', { user_id: 'u' }),
      eventOf('role.granted', { user_id: 'u', role: 'auditor' }),
      eventOf('api_key.created', { key_id: 'k', role: 'auditor' }),
      eventOf('group.changed', { operation: 'create', group_id: 'g' }),
      eventOf('device.enrolled', { device_id: 'd', method: 'token' }),
      eventOf('device.changed', { operation: 'suspend', device_id: 'd' }),
      eventOf('api_key.used', { key_id: 'k', endpoint: 'GET /v1/devices' }),
      eventOf('request.refused', { operation: 'createUser' }),
    ),
    [300201, 300202, 300706, 300705, 300713, 300716, 300718, 300606, 300406, 300412, 600302, 600399],
  )
})

test('one event is one line of JSON, and brings the record that was hashed', () => {
  fc.assert(
    fc.property(texts, (given) => {
      const stored = hostileEvent(given)
      const line = ocsf(stored)
      assert.equal(lines(line).length, 1)
      const event = JSON.parse(line) as Ocsf
      requireValid(event)
      assert.equal(event.raw_data, stored.record)
      assert.equal((event.metadata as { sequence: number }).sequence, stored.seq)
      assert.equal(event.status_id, 2)
    }),
    { numRuns: 200 },
  )
})

test('a long event leaves its record out where it would be longer than a receiver takes, and nothing else', () => {
  const details = { groups: Array.from({ length: 1500 }, (_, i) => `a "quoted" group ${i}`) }
  const stored = eventOf('user.changed', { operation: 'update', user_id: 'u' }, {}, { details })
  const { raw_data, ...whole } = told(stored)
  assert.equal(raw_data, stored.record)
  const length = Buffer.byteLength(ocsf(stored))
  assert.ok(length > 2 * stored.record.length)
  assert.equal(ocsf(stored, length), ocsf(stored))
  const short = ocsf(stored, length - 1)
  assert.deepEqual(JSON.parse(short), whole)
  assert.ok(Buffer.byteLength(short) < stored.record.length * 1.1)
})
