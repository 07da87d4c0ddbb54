import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startServer, startShell } from '../../test/support/shell.ts'

const rotated = {
  mode: 'planned',
  anchor_id: 'sgn_new',
  replaced_anchor_id: 'sgn_old',
  retire_after: '2030-02-01T00:00:00.000Z',
  trust_anchor_version: 7,
}
async function start(t: TestContext, body: object = rotated) {
  const { url, asked } = await startServer(t, () => ({ body }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  return { asked, trust: (line: string) => run(['trust', ...line.split(' ')]) }
}

test('a planned rotation needs no confirmation and prints its consequences', async (t) => {
  const { asked, trust } = await start(t)
  const { code, out, err } = await trust('rotate --overlap 30d --reason yearly')
  assert.equal(code, 0)
  assert.match(out, /^mode +planned\nanchor_id +sgn_new\nreplaced_anchor_id +sgn_old\n/)
  assert.match(err, /^The old and the new anchor are valid side by side\./)
  assert.deepEqual(asked[0]?.body, { mode: 'planned', overlap_seconds: 30 * 86_400, reason: 'yearly' })
  assert.equal(asked[0]?.line, 'POST /v1/trust/anchors/rotate')
  assert.deepEqual(JSON.parse((await trust('rotate --json')).out), rotated)
})

test('an emergency rotation lists its consequences and needs a confirmation', async (t) => {
  const { asked, trust } = await start(t, { ...rotated, mode: 'emergency', retire_after: null })
  const refused = await trust('rotate --emergency')
  assert.equal(refused.code, 2)
  assert.match(refused.err, /every certificate under it is revoked(.|\n)*Add --yes/)
  assert.equal(asked.length, 0)
  assert.equal((await trust('rotate --emergency --anchor sgn_old --yes')).code, 0)
  assert.deepEqual(asked[0]?.body, { mode: 'emergency', anchor_id: 'sgn_old' })
})

test('an overlap must be a duration', async (t) => {
  const { asked, trust } = await start(t)
  assert.equal((await trust('rotate --overlap soon')).code, 2)
  assert.equal(asked.length, 0)
})
