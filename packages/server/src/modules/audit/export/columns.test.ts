import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditHash, noHash } from '@holdfast/crypto'
import { newUuid } from '../../../kernel/ids.ts'
import { arrivalOf } from '../record.ts'
import { type AuditExportRow, requireAsRecorded } from './columns.ts'

const source = {
  ...({ tenantId: newUuid() as Parameters<typeof arrivalOf>[0]['tenantId'], type: 'session', id: 'usr_1' } as const),
  ...({ origin: 'console', sourceIp: '192.0.2.7', userAgent: null, requestId: 'r-1', claim: null } as const),
}
function rowOf(name: string | null, key: string | null, rewritten = (record: string) => record): AuditExportRow {
  const target = { type: 'user', id: null, name: null }
  const {
    actor_name: _,
    target_name: __,
    tenant_id: ___,
    ...arrival
  } = arrivalOf(
    { ...source, name },
    'user.changed',
    { operation: 'rename', user_id: 'usr_1' },
    { target, details: { '10': 1, '9': [1.5, '€'] } },
    new Date('2026-01-31T09:30:00.250Z'),
  )
  const record = rewritten(arrival.record)
  return { ...arrival, record, actor_name_key: key, target_name_key: null, seq: 1, hash: auditHash(noHash, 1, record) }
}

test('the key of a name must be its lower case in some locale', () => {
  for (const [name, key] of [
    ['Zoë', 'zoë'],
    ['ÉMILE', 'Émile'],
    ['İbrahim', 'ibrahim'],
    ['İbrahim', 'i̇brahim'],
    ['ISIK', 'ısık'],
    ['ΟΔΟΣ', 'οδοσ'],
    ['ΟΔΟΣ', 'οδος'],
    ['STRAẞE', 'straße'],
    [null, null],
  ] as const)
    requireAsRecorded(rowOf(name, key), undefined)
  for (const [name, key] of [
    ['Zoë', 'zo'],
    ['Zoë', null],
    [null, 'zoë'],
    ['', null],
  ] as const)
    assert.throws(() => requireAsRecorded(rowOf(name, key), undefined), { seq: 1, message: /actor_name_key/ })
})

test('the columns must match the recorded text, with any white space', () => {
  const spaced = (record: string) => record.replace('"origin":', '"origin": ')
  requireAsRecorded(rowOf('Zoë', 'zoë', spaced), undefined)
  const { hash } = rowOf('Zoë', 'zoë')
  assert.throws(() => requireAsRecorded({ ...rowOf('Zoë', 'zoë', spaced), hash }, undefined), /its hash does not match/)
  for (const record of ['{', 'null', '5', '"text"'])
    assert.throws(() => requireAsRecorded({ ...rowOf('Zoë', 'zoë'), record }, undefined), /not an event/, record)
  assert.throws(() => requireAsRecorded(rowOf('Zoë', 'zoë'), { seq: 1, hash }), /two events/)
})
