import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import { AppError } from '../../kernel/app-error.ts'
import { createRefusedReads } from './refused-reads.ts'

const tenantId = '00000000-0000-7000-8000-000000000001' as TenantId
const device = (id: string, sourceIp = '192.0.2.1') =>
  ({ tenantId, type: 'device', id, name: id, sourceIp, requestId: 'r', principal: {} }) as unknown as Actor
const refusal = (code: 'forbidden' | 'not_found' = 'forbidden') => new AppError(code, `${code}, in words`)

function start() {
  const noted: { id: string | null; operation: string; details: Record<string, unknown> }[] = []
  let ms = 0
  const reads = createRefusedReads({
    audit: {
      note: async (source, _, fields, more) =>
        void noted.push({ id: source.id, operation: String(Object(fields).operation), details: more?.details ?? {} }),
    },
    now: () => {
      ms += 1000
      return new Date(ms)
    },
    onError: assert.ifError,
  })
  return { reads, noted }
}

test('the first refused read of a kind per minute is recorded at once, the others with count, times and addresses', async () => {
  const { reads, noted } = start()
  await reads.record(device('dev_1'), 'listUsers', refusal())
  assert.equal(noted.splice(0).length, 1, 'before its answer')
  for (let i = 0; i < 50; i++) await reads.record(device('dev_1', `192.0.2.${i}`), 'listUsers', refusal())
  assert.equal(noted.length, 0)
  await reads.record(device('dev_1'), 'listUsers', refusal('not_found'))
  await reads.record(device('dev_1'), 'listGroups', refusal())
  await reads.record(device('dev_2'), 'listUsers', refusal())
  assert.equal(noted.splice(0).length, 3, 'another code, operation or caller is another event')
  await reads.flush()
  const [event, ...others] = noted
  assert.deepEqual(others, [])
  const { source_ips: addresses, ...details } = event!.details
  assert.deepEqual(details, {
    error: 'forbidden',
    detail: 'forbidden, in words',
    refused: 50,
    first_at: '1970-01-01T00:00:02.000Z',
    last_at: '1970-01-01T00:00:51.000Z',
  })
  assert.equal((addresses as string[]).length, 8)
})

test('callers beyond a bound share one event without a caller', async () => {
  const { reads, noted } = start()
  for (let i = 0; i < 3000; i++) await reads.record(device(`dev_${i}`), 'listUsers', refusal())
  assert.equal(noted.length, 1001)
  await reads.flush()
  const shared = noted.filter(({ id }) => id === null)
  assert.equal(noted.length, 1002)
  assert.deepEqual(
    shared.map(({ details }) => details.refused),
    [1, 1999],
  )
  assert.deepEqual(shared[0]?.details.source_ips, ['192.0.2.1'])
})

test('throttled enrollment challenges share one event', async () => {
  const { reads, noted } = start()
  const challenge = (id: string) =>
    ({ ...device(id), type: 'enrollment_challenge', principal: { kind: 'enrollment_challenge' } }) as unknown as Actor
  const throttled = new AppError('rate_limited', 'too many')
  for (let i = 0; i < 50; i++) await reads.record(challenge(`ch_${i}`), 'deviceCodeStatus', throttled)
  await reads.flush()
  assert.deepEqual(
    noted.map(({ id, details }) => [id, details.refused]),
    [
      [null, 1],
      [null, 49],
    ],
  )
})
