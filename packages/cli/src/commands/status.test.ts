import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer, startShell } from '../../test/support/shell.ts'

const step = {
  at: '2026-11-23T00:00:00.000Z',
  rx_bytes: 2_000_000,
  tx_bytes: 0,
  sessions_started: 3,
  sessions: 2,
  enrollments: 1,
  logins_failed: 4,
  refused: 5,
}
const overview = {
  devices: {
    status: { pending: 0, active: 8, suspended: 1, revoked: 0 },
    posture: { compliant: 8, non_compliant: 0, unknown: 1 },
  },
  users: { active: 3, suspended: 0 },
  gateways: { status: { healthy: 2, degraded: 0, draining: 0, down: 0, never_seen: 0, pending: 0 } },
  sessions: { active: 5 },
  policy: [
    {
      channel: 'stable',
      version: 7,
      digest: `sha256:${'0'.repeat(64)}`,
      published_at: step.at,
      devices: { applied: 6, pending: 2 },
      gateways: { applied: 1, pending: 1 },
    },
  ],
  logins: { failed_24h: 4 },
  alerts: { info: 0, warning: 1, critical: 0 },
  expiring: { expired: 0, critical: 0, warning: 0, soonest: [] },
  usage: [{ metric: 'devices', used: 8, limit: 10, state: 'approaching' }],
  series: [step],
}

test('how the fleet stands is a field a line, or the answer as it came; series are a table', async (t) => {
  const { url, asked } = await startServer(t, ({ line }) => ({
    body: line.includes('/overview') ? overview : { from: step.at, to: step.at, step: 'day', series: [step] },
  }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const shown = await run(['status'])
  assert.equal(shown.code, 0)
  assert.match(shown.out, /^devices\.status\.active +8$/m)
  assert.match(shown.out, /^policy\.stable +version 7, applied by 6 of 8 devices and 1 of 2 gateways$/m)
  assert.match(shown.out, /^usage\.devices +8 of 10$/m)
  assert.deepEqual(JSON.parse((await run(['status', '--json'])).out), overview)
  const table = await run(['status', 'series', '--from', '2026-11-01T00:00:00Z'])
  assert.match(table.out, /^AT .*\n2026-11-23 +2.* +2 +3 +1 +4 +5\n$/)
  assert.equal(asked.at(-1)?.line, 'GET /v1/admin/metrics?from=2026-11-01T00%3A00%3A00.000Z')
})
