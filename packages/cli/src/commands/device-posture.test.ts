import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answered, startServer, startShell } from '../../test/support/shell.ts'

const device_id = 'dev_01jxz3c9dqf7vr2m8k4s6t0b5w'
const posture = {
  device_id,
  platform: 'linux',
  verdict: 'non_compliant',
  reported_at: '2030-01-31T08:00:00.000Z',
  valid_until: null,
  channel: 'stable',
  version: 3,
  facts: { 'disk.encrypted': false },
  checks: [
    {
      check_id: 'disk',
      passed: false,
      reason_code: 'failed',
      enforcement: 'enforce',
      expected: 'disk.encrypted == true',
      actual: { 'disk.encrypted': false },
      valid_until: '2030-01-31T09:00:00.000Z',
    },
  ],
}
const assertion = { assertion: 'a.b.c', expires_at: '2030-01-31T08:10:00.000Z', status: 'none', reasons: [] }
const answers: Record<string, Answered> = {
  [`/v1/admin/devices/${device_id}/posture`]: { body: posture },
  '/v1/posture/assertion': { body: assertion },
}
const start = async (t: Parameters<typeof startServer>[0]) => {
  const { url, asked } = await startServer(
    t,
    ({ line }) => answers[line.split(/[ ?]/)[1] ?? ''] ?? { status: 404, body: {} },
  )
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  return { run, lines: () => asked.map(({ line }) => line) }
}

test('the posture of a device shows expected and actual facts of each check', async (t) => {
  const { run } = await start(t)
  const { code, out } = await run(['device', 'posture', device_id])
  assert.equal(code, 0)
  assert.match(out, /^verdict +non_compliant$/m)
  assert.match(out, /^CHECK {2}RESULT {2}ENFORCEMENT {2}EXPECTED +ACTUAL +VALID UNTIL$/m)
  assert.match(out, /^disk +FAILED +enforce +disk\.encrypted == true +\{"disk\.encrypted":false\} +2030-01-31T09/m)
  assert.deepEqual(JSON.parse((await run(['device', 'posture', device_id, '--json'])).out), posture)
})

test('an assertion is requested with the nonce of the relying party', async (t) => {
  const { run, lines } = await start(t)
  const { out } = await run(['device', 'assertion', device_id, '--nonce', 'AAAAAAAAAAA', '--json'])
  assert.deepEqual(JSON.parse(out), assertion)
  assert.match((await run(['device', 'assertion', device_id])).out, /^assertion +a\.b\.c$/m)
  assert.deepEqual(lines(), [
    `GET /v1/posture/assertion?device_id=${device_id}&nonce=AAAAAAAAAAA`,
    `GET /v1/posture/assertion?device_id=${device_id}`,
  ])
})
