import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RefusedCredential, TenantId } from '../../kernel/actor.ts'
import { createRefuse } from './refuse.ts'

test('the look-up of a refused device is limited to the failures that a source may cause per minute', async () => {
  const noted: string[] = []
  const refuse = createRefuse({
    audit: { note: async (_, kind) => void noted.push(kind) },
    log: { warn: () => {} },
    onError: assert.ifError,
    failuresPerMinute: 10,
    tenantOfStrangers: async () => undefined,
    attemptRefused: () => {},
  })
  const stranger = { sourceIp: '192.0.2.1', userAgent: null, requestId: 'r' }
  let signatures = 0
  const ofDevice = (reason: RefusedCredential['reason']): RefusedCredential => ({
    kind: 'refused',
    of: 'device',
    tenantId: '00000000-0000-7000-8000-000000000001' as TenantId,
    id: '00000000-0000-7000-8000-000000000002',
    name: 'laptop',
    reason,
    showsKey: () => {
      signatures++
      return true
    },
  })
  // No status is reported for these reasons, even if the device proves its key.
  for (const reason of ['expired', 'superseded', 'no_proof'] as const) refuse.credential(ofDevice(reason), stranger)
  assert.equal(signatures, 0)
  const answers = Array.from({ length: 100 }, () => refuse.credential(ofDevice('suspended'), stranger).code)
  const told = answers.filter((code) => code === 'unauthorized').length
  assert.ok(told > 0 && told <= 10, `${told} of 100`)
  assert.equal(signatures, told)
  assert.ok(answers.slice(told).every((code) => code === 'rate_limited'))
  await refuse.flush()
  assert.deepEqual([...new Set(noted)].sort(), ['auth.throttled', 'device.refused'])
})
