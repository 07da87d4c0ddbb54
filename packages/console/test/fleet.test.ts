import assert from 'node:assert/strict'
import { test } from 'node:test'
import { effectiveStatuses } from '@holdfast/contract/devices'
import { inBrowser, openGround } from './ground.ts'

test('the fleet has devices in every state, and gateways that confirm both policies', inBrowser, async () => {
  const { admin } = (await openGround()).kit
  const { items: devices } = await admin.listDevices({ query: { limit: 200 } })
  assert.ok(devices.length >= 60, `${devices.length} devices`)
  // The devices of a deleted user are revoked together with the user.
  const states = effectiveStatuses.filter((status) => status !== 'user_deleted')
  assert.deepEqual([...new Set(devices.map((d) => d.effective_status))].sort(), states.sort())
  assert.deepEqual(
    [...new Set(devices.map((d) => d.posture.verdict))].sort(),
    ['compliant', 'non_compliant', 'unknown'],
    'every posture verdict',
  )
  const { summary } = await admin.gatewayHealth()
  assert.equal(summary?.healthy, 10)
  assert.equal(summary.never_seen, 1)
  const { items: sessions } = await admin.listSessions({ query: { limit: 200, state: 'all' } })
  assert.deepEqual([...new Set(sessions.map((s) => s.state))].sort(), ['active', 'ended'])
})
