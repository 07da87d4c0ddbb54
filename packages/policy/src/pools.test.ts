import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endOn, poolsOf as poolsAt } from './pools.ts'
import type { VariantContent } from './variant.ts'

const poolsOf = (content: VariantContent) => poolsAt(content, 0)
const mayUse = (content: VariantContent, pool: string) => endOn(content, pool) > 0

const variant = (
  rules: { action?: 'allow' | 'deny'; to: string[]; via?: string[]; expires_at?: string }[],
  resources: Record<string, { pool?: string }> = {},
): VariantContent => ({
  schema: 'holdfast.policy/1',
  rules: rules.map((r, i) => ({ id: `r${i}`, action: 'allow', ...r })),
  resources,
  settings: {},
  gateway_pools: [],
  posture_checks: [],
})

test('a variant without an allow rule uses no pool', () => {
  assert.deepEqual(poolsOf(variant([])), new Set())
  assert.deepEqual(poolsOf(variant([{ action: 'deny', to: ['*'], via: ['gwp_a'] }])), new Set())
})

test('allow rules use the pools that they name', () => {
  const content = variant([
    { to: ['*'], via: ['gwp_a'] },
    { to: ['10.0.0.0/8'], via: ['gwp_b', 'gwp_c'] },
  ])
  assert.deepEqual(poolsOf(content), new Set(['gwp_a', 'gwp_b', 'gwp_c']))
  assert.deepEqual([mayUse(content, 'gwp_a'), mayUse(content, 'gwp_z')], [true, false])
})

test('a rule that names no pool uses the pools of its resources', () => {
  const resources = { wiki: { pool: 'gwp_a' }, git: { pool: 'gwp_b' } }
  assert.deepEqual(poolsOf(variant([{ to: ['wiki', 'git'] }], resources)), new Set(['gwp_a', 'gwp_b']))
})

test('a rule to a target without a pool uses every pool', () => {
  const resources = { wiki: { pool: 'gwp_a' }, printers: {} }
  assert.equal(poolsOf(variant([{ to: ['wiki', 'printers'] }], resources)), 'every')
  assert.equal(poolsOf(variant([{ to: ['wiki'] }, { to: ['10.0.0.0/8'] }], resources)), 'every')
  assert.equal(poolsOf(variant([{ to: ['constructor'] }])), 'every')
})

test('a rule uses its pools until it expires', () => {
  const soon = new Date(1000).toISOString()
  const later = new Date(2000).toISOString()
  const content = variant([
    { to: ['*'], via: ['gwp_a'], expires_at: soon },
    { to: ['10.0.0.0/8'], via: ['gwp_a', 'gwp_b'], expires_at: later },
    { to: ['*'], expires_at: soon },
  ])
  assert.equal(poolsAt(content, 999), 'every')
  assert.deepEqual(poolsAt(content, 1000), new Set(['gwp_a', 'gwp_b']))
  assert.deepEqual(poolsAt(content, 2000), new Set())
  assert.deepEqual([endOn(content, 'gwp_a'), endOn(content, 'gwp_z')], [2000, 1000])
})
