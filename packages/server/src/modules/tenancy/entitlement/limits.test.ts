import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isAtLimit, type License, resolve, stateOf } from './limits.ts'

const license = (more: Partial<License> = {}): License => ({
  state: 'active',
  edition: 'enterprise',
  limits: {},
  features: [],
  endsAt: null,
  ...more,
})

test('the smallest of license, plan and tenant limit counts, with its source', () => {
  const found = resolve({
    license: license({ limits: { users: 100, devices: 50 } }),
    plan: { name: 'team', limits: { users: 20, devices: 80 }, features: [] },
    tenant: { users: 30, gateways: 2 },
  })
  assert.deepEqual(
    [found.limits.users, found.limits.devices, found.limits.gateways, found.limits.sessions],
    [20, 50, 2, null],
  )
  assert.deepEqual(
    [found.sources.users, found.sources.devices, found.sources.gateways, found.sources.sessions],
    ['plan', 'license', 'tenant', 'none'],
  )
})

test('the limit is the smallest value that is not null', () => {
  const limit = fc.option(fc.nat(1000), { nil: null })
  fc.assert(
    fc.property(limit, limit, limit, (a, b, c) => {
      const { limits, sources } = resolve({
        license: license({ limits: { users: a } }),
        plan: { name: 'p', limits: { users: b }, features: [] },
        tenant: { users: c },
      })
      const given = [a, b, c].filter((x) => x !== null)
      assert.equal(limits.users, given.length > 0 ? Math.min(...given) : null)
      assert.equal(sources.users === 'none', given.length === 0)
    }),
  )
})

test('without a license nothing is limited; a plan adds no feature beyond the license', () => {
  const none = resolve({ license: null, plan: null, tenant: {} })
  assert.deepEqual([none.edition, none.licenseState, none.isClosed], ['community', 'active', false])
  assert.deepEqual(Object.values(none.limits), [null, null, null, null, null, null])
  const plan = { name: 'p', limits: {}, features: ['siem', 'saml'] }
  assert.deepEqual(resolve({ license: null, plan, tenant: {} }).features, ['siem', 'saml'])
  assert.deepEqual(resolve({ license: license({ features: ['saml'] }), plan, tenant: {} }).features, ['saml'])
})

test('an expired or missing required license blocks additions; a grace period does not', () => {
  const closed = (state: License['state']) => resolve({ license: license({ state }), plan: null, tenant: {} })
  assert.deepEqual(
    (['active', 'grace', 'expired', 'required'] as const).map((s) => isAtLimit(closed(s), 'users', 0)),
    [false, false, true, true],
  )
})

test('the state is approaching from 80 %, at the limit at 100 %, and over above', () => {
  const states = [79, 80, 99, 100, 101].map((used) => stateOf(used, 100))
  assert.deepEqual(states, ['ok', 'approaching', 'approaching', 'at_limit', 'over'])
  assert.deepEqual([stateOf(0, 0), stateOf(1, 0), stateOf(5, null)], ['at_limit', 'over', 'ok'])
})
