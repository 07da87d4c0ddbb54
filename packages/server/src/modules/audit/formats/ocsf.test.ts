import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditFieldTypes, auditKinds } from '@holdfast/contract/audit-fields'
import type { AuditFields, AuditKind } from '@holdfast/contract/vocabulary'
import fc from 'fast-check'
import { anyLines, eventOf, hostileEvent, texts } from '../../../../test/support/domain/hostile-events.ts'
import { type Ocsf, requireOcsf } from '../../../../test/support/domain/ocsf-check.ts'
import { ocsf } from './ocsf.ts'

const example = (kind: AuditKind): AuditFields[AuditKind] =>
  Object.fromEntries(
    [...auditFieldTypes()]
      .filter(([, { kinds }]) => kinds.includes(kind))
      .map(([name, { type }]) => [name, { string: 'text', integer: 1, boolean: true, strings: ['a'] }[type]]),
  ) as AuditFields[AuditKind]
const told = (stored: Parameters<typeof ocsf>[0]) => JSON.parse(ocsf(stored)) as Ocsf

const people = { type: 'session', id: 'usr_1', name: 'ada', userAgent: 'curl/8' } as const
const job = { type: 'job', id: 'prune', name: null, sourceIp: null } as const
const sources = [{}, people, job, { type: 'api_key', id: 'key_1', name: 'ci' } as const]
const operations = 'create update delete suspend reactivate unlock approve revoke link'.split(' ')

test('every kind is an event of OCSF 1.9.0: no attribute that its class does not have, none missing, all of their type', () => {
  for (const kind of auditKinds) {
    const fields = example(kind)
    for (const [i, source] of sources.entries())
      for (const target of [
        undefined,
        { type: 'device', id: 'dev_1', name: null },
        { type: 'user', id: 'u', name: 'x' },
      ]) {
        const outcome = (['success', 'refused', 'failed'] as const)[i % 3]!
        const more = { outcome, ...(target && { target }), details: { error: 'e', detail: 'd', other: 1 } }
        requireOcsf(told(eventOf(kind, fields, source, more)))
      }
  }
  for (const kind of auditKinds.filter((k) => 'operation' in example(k)))
    for (const operation of operations)
      requireOcsf(told(eventOf(kind, { ...example(kind), operation } as AuditFields[typeof kind])))
})

test('what is not of the schema is found', () => {
  const event = () => told(eventOf('user.changed', { operation: 'suspend', user_id: 'u' }, people))
  const { user: _, ...without } = event()
  const wrong: Record<string, unknown>[] = [
    without,
    { ...event(), programmatic_credentials: [] },
    { ...event(), user: {} },
    { ...event(), user: [{ name: 'x' }] },
    { ...event(), user: { name: 'x', nick: 'y' } },
    { ...event(), user: { name: 'x', type_id: 1, type: 'Admin' } },
    { ...event(), user: { name: 'x', type_id: 99 } },
    { ...event(), activity_name: 'Enable' },
    { ...event(), activity_id: 20, type_uid: 300720 },
    { ...event(), type_uid: 300704 },
    { ...event(), time: '2026-01-31T09:30:00Z' },
    { ...event(), severity: 'High' },
    { ...event(), src_endpoint: { ip: 'localhost' } },
    { ...event(), metadata: { version: '1.9.0' } },
    { ...event(), actor: {} },
  ]
  requireOcsf(event())
  for (const one of wrong) assert.throws(() => requireOcsf(one as Ocsf), assert.AssertionError, JSON.stringify(one))
})

test('a key is a credential of whose rights bound it, not of who made or ended it', () => {
  const by = { type: 'session', id: 'usr_admin', name: 'admin' } as const
  const more = { target: { type: 'api_key', id: 'key_1', name: 'ci' } }
  const programmatic_credentials = [{ uid: 'key_1', type: 'API Key' }]
  const owned = { key_id: 'key_1', user_id: 'usr_owner' }
  for (const stored of [
    eventOf('api_key.created', { ...owned, role: 'auditor' }, by, more),
    eventOf('api_key.revoked', owned, by, more),
  ])
    assert.deepEqual(told(stored).user, { uid: 'usr_owner', programmatic_credentials })
  assert.deepEqual(told(eventOf('api_key.revoked', { key_id: 'key_1' }, by, more)).user, {
    name: 'ci',
    uid: 'key_1',
    type_id: 4,
    programmatic_credentials,
  })
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
      eventOf('group.changed', { operation: 'update', group_id: 'g' }),
      eventOf('device.enrolled', { device_id: 'd', method: 'token' }),
      eventOf('device.changed', { operation: 'suspend', device_id: 'd' }),
      eventOf('api_key.used', { key_id: 'k', endpoint: 'GET /v1/devices' }),
      eventOf('request.refused', { operation: 'createUser' }),
    ),
    [300201, 300202, 300706, 300705, 300713, 300716, 300718, 300606, 300609, 300406, 300412, 600302, 600399],
  )
})

test('what an administrator manages is told as an entity, what changes nothing as a call', () => {
  const types = (...kinds: AuditKind[]) => kinds.map((kind) => told(eventOf(kind, example(kind))).type_uid)
  assert.deepEqual(
    types('siem_connector.created', 'siem_connector.updated', 'siem_connector.deleted', 'siem_connector.replayed'),
    [300401, 300403, 300404, 300499],
  )
  assert.deepEqual(types('siem_connector.parked', 'siem_connector.resumed'), [300412, 300413])
  assert.deepEqual(types('lock.set', 'lock.released'), [300412, 300413])
  assert.deepEqual(types('legal_hold.placed', 'legal_hold.released'), [300401, 300404])
  assert.deepEqual(types('retention.updated', 'retention.purged'), [300403, 300499])
  assert.deepEqual(types('device.enrollment_refused', 'policy.replayed', 'siem_connector.tested'), [
    ...[600399, 600399, 600399],
  ])
})

test('one event is one line of JSON, and brings the record that was hashed', () => {
  fc.assert(
    fc.property(texts, (given) => {
      const stored = hostileEvent(given)
      const line = ocsf(stored)
      assert.equal(anyLines(line).length, 1)
      const event = JSON.parse(line) as Ocsf
      requireOcsf(event)
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
