import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Variant } from '@holdfast/policy'
import { createVariantBudget, type VariantSlot } from './variants.ts'

const variant = (digest: string): Variant => ({
  digest,
  channel: 'stable',
  version: 1,
  seq: 1,
  content: {
    schema: 'holdfast.policy/1',
    rules: [],
    resources: {},
    settings: {},
    gateway_pools: [],
    posture_checks: [],
  },
})

test('variants that were not used lately are evicted, within the budget', () => {
  const budget = createVariantBudget(100_000)
  const left: string[] = []
  const slots: VariantSlot[] = []
  for (let i = 0; i < 200; i++) {
    slots.push(budget.take(variant(String(i)), 1000, () => left.push(String(i))))
    slots[0]!.isUsed = true
  }
  assert.ok(budget.heldBytes() <= 100_000)
  assert.ok(slots[0]!.variant, 'it was asked for all the time')
  assert.equal(slots.filter((s) => s.variant !== null).length, 200 - left.length)
  for (const slot of slots) budget.release(slot)
  assert.equal(budget.heldBytes(), 0)
})

test('a single variant above the budget is still returned', () => {
  const budget = createVariantBudget(10)
  assert.ok(budget.take(variant('a'), 1000, () => {}).variant)
})
