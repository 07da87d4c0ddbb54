import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startServer, startShell } from '../../test/support/shell.ts'

const signer = {
  signer_id: 'sgn_1',
  tenant_id: 'tnt_1',
  purpose: 'policy',
  alg: 'ES256',
  kid: 'k-1',
  provider: 'local',
  state: 'active',
  certificate: null,
  created_at: '2030-01-01T00:00:00.000Z',
  activated_at: '2030-01-01T00:00:00.000Z',
  retire_after: null,
  retired_at: null,
}
async function start(t: TestContext, body: object, status = 200) {
  const { url, asked } = await startServer(t, () => ({ status, body }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  return { asked, signer: (line: string) => run(['signer', ...line.split(' ')]) }
}

test('signers are listed in a table, filtered by purpose and state', async (t) => {
  const { asked, signer: run } = await start(t, { items: [signer], next_cursor: null })
  const { out } = await run('list --purpose policy --state active')
  assert.deepEqual(
    out.split('\n').map((line) => line.replaceAll(/ +/g, ' ')),
    ['SIGNER PURPOSE STATE ALG KEY STORAGE RETIRES AFTER', 'sgn_1 policy active ES256 local -', ''],
  )
  assert.equal(asked[0]?.line, 'GET /v1/admin/settings/signers?purpose=policy&state=active&limit=100')
  assert.deepEqual(JSON.parse((await run('list --json')).out), signer)
})

test('a signer is created for a purpose, and the next command is printed', async (t) => {
  const { asked, signer: run } = await start(t, { ...signer, state: 'pending' }, 201)
  const { code, err } = await run('create policy --provider local')
  assert.deepEqual([code, err], [0, 'The key signs nothing yet. Activate it with: holdfast signer activate sgn_1\n'])
  assert.deepEqual(asked[0]?.body, { purpose: 'policy', provider: 'local' })
  assert.equal((await run('create ca-root')).code, 2)
  assert.equal(asked.length, 1)
})

test('activation needs no confirmation, retirement does', async (t) => {
  const { asked, signer: run } = await start(t, { changed: false, signer })
  const { out, err } = await run('activate sgn_1 --reason yearly')
  assert.match(out, /^signer_id +sgn_1\n/)
  assert.equal(err, 'No change.\n')
  const refused = await run('retire sgn_1 --compromised')
  assert.equal(refused.code, 2)
  assert.match(refused.err, /All its signatures become invalid\. Add --yes/)
  assert.match((await run('retire sgn_1 --force')).err, /still need it fail until/)
  assert.equal((await run('retire sgn_1 --compromised --force --reason stolen --yes')).code, 0)
  assert.deepEqual(
    asked.map(({ line, body }) => [line, body]),
    [
      ['POST /v1/admin/settings/signers/sgn_1/activate', { reason: 'yearly' }],
      ['POST /v1/admin/settings/signers/sgn_1/retire', { compromised: true, force: true, reason: 'stolen' }],
    ],
  )
})

test('a refused retirement prints the reason of the server and exits with 1', async (t) => {
  const detail = '3 of 9 devices have not fetched a trust set with its successor: wait, or force it'
  const { signer: run } = await start(t, { error: 'validation_error', detail, request_id: 'r-1' }, 422)
  assert.deepEqual(await run('retire sgn_1 --yes'), { code: 1, out: '', err: `Error: ${detail} (request r-1)\n` })
})
