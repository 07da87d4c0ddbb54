import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blockersOf, effectiveOf, effectiveStatusIn } from './effective.ts'

test('the counted effective status is that of the first blocker, in every combination', () => {
  const now = Date.parse('2026-01-31T09:30:00Z')
  let tried = 0
  for (const status of ['pending', 'active', 'suspended', 'revoked'] as const)
    for (const lockedBy of [null, 'tenant', 'device', 'group'] as const)
      for (const user of [null, 'active', 'suspended', 'locked', 'group_locked', 'deleted'] as const)
        for (const credentialUntil of [now - 1, now, now + 1]) {
          const facts = { status, lockedBy, user, credentialUntil }
          const [first] = blockersOf(facts, now)
          assert.equal(effectiveStatusIn(facts, now), first?.status ?? 'active', JSON.stringify(facts))
          assert.deepEqual(effectiveOf(facts, now), {
            status: first?.status ?? 'active',
            reason: first?.reason ?? null,
          })
          tried++
        }
  assert.equal(tried, 288)
})
