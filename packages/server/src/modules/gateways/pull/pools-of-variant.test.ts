import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { VariantContent } from '../../policy/index.ts'
import { mayUse, poolsOf } from './pools-of-variant.ts'

const variant = (
  rules: { action?: 'allow' | 'deny'; to: string[]; via?: string[] }[],
  resources: Record<string, { pool?: string }> = {},
): VariantContent => ({
  schema: 'holdfast.policy/1',
  rules: rules.map((r, i) => ({ id: `r${i}`, action: 'allow', ...r })),
  resources,
  settings: {},
  gateway_pools: [],
  posture_checks: [],
})

test('a variant without an allow rule leads through no pool', () => {
  assert.deepEqual(poolsOf(variant([])), new Set())
  assert.deepEqual(poolsOf(variant([{ action: 'deny', to: ['*'], via: ['gwp_a'] }])), new Set())
})

test('allow rules lead through the pools they name', () => {
  const content = variant([
    { to: ['*'], via: ['gwp_a'] },
    { to: ['10.0.0.0/8'], via: ['gwp_b', 'gwp_c'] },
  ])
  assert.deepEqual(poolsOf(content), new Set(['gwp_a', 'gwp_b', 'gwp_c']))
  assert.deepEqual([mayUse(content, 'gwp_a'), mayUse(content, 'gwp_z')], [true, false])
})

test('a rule that names no pool leads through the pools of its resources', () => {
  const resources = { wiki: { pool: 'gwp_a' }, git: { pool: 'gwp_b' } }
  assert.deepEqual(poolsOf(variant([{ to: ['wiki', 'git'] }], resources)), new Set(['gwp_a', 'gwp_b']))
})

test('a rule that leads anywhere without a pool leads through every pool', () => {
  const resources = { wiki: { pool: 'gwp_a' }, printers: {} }
  assert.equal(poolsOf(variant([{ to: ['wiki', 'printers'] }], resources)), 'every')
  assert.equal(poolsOf(variant([{ to: ['wiki'] }, { to: ['10.0.0.0/8'] }], resources)), 'every')
  assert.equal(poolsOf(variant([{ to: ['constructor'] }])), 'every')
})
