import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answered, startServer, startShell } from '../../test/support/shell.ts'

const status = {
  source: 'file',
  state: 'active',
  edition: 'enterprise',
  license_id: 'lic-1',
  issuer: 'Holdfast licensing',
  customer: 'ACME',
  issued_at: '2030-01-01T00:00:00.000Z',
  valid_from: '2030-01-01T00:00:00.000Z',
  expires_at: '2031-01-01T00:00:00.000Z',
  grace_ends_at: '2031-01-15T00:00:00.000Z',
  limits: { tenants: 5, users: null },
  features: ['saml'],
  deployment_id: '0198c0de-0000-7000-8000-0123456789ab',
  loaded_at: '2030-01-02T00:00:00.000Z',
  problem: null,
}
const namesOf = (out: string) => out.split('\n').map((line) => line.split(' ')[0])

async function start(t: Parameters<typeof startServer>[0], answered: Answered) {
  const { url, asked } = await startServer(t, () => answered)
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  return { asked, license: (...args: string[]) => run(['license', ...args]) }
}

test('the license in force is shown, with its problem if there is one', async (t) => {
  const good = await start(t, { body: status })
  const { code, out, err } = await good.license('status')
  assert.deepEqual([code, err], [0, ''])
  assert.match(
    out,
    /^state +active\nedition +enterprise\ncustomer +ACME\nexpires_at +2031-01-01T.+\ngrace_ends_at .+\n/,
  )
  assert.match(out, /^limits\.tenants +5\nlimits\.users +unlimited\nfeatures +saml\ndeployment_id +0198c0de-.+\n/m)
  assert.ok(!namesOf(out).includes('problem'))
  assert.deepEqual(JSON.parse((await good.license('status', '--json')).out), status)

  const problem = { detail: 'It has ended.', at: '2031-02-01T00:00:00.000Z' }
  const bad = await start(t, { body: { ...status, state: 'expired', problem } })
  assert.match((await bad.license('status')).out, /^state +expired\nproblem +It has ended\.\nproblem_at +2031-02-01T/)
})

test('a license without limits shows "unlimited"', async (t) => {
  const { license } = await start(t, { body: { ...status, limits: {} } })
  assert.match((await license('status')).out, /^limits +unlimited$/m)
})

test('reload prints whether the license changed', async (t) => {
  for (const [changed, said] of [
    [true, 'The license in the file is now in force.\n'],
    [false, 'The license in the file was already in force.\n'],
  ] as const) {
    const { license, asked } = await start(t, { body: { changed, license: status } })
    const { code, out, err } = await license('reload')
    assert.deepEqual([code, err], [0, said])
    assert.match(out, /^state +active\n/)
    assert.equal(asked[0]?.line, 'POST /v1/admin/license/reload')
    assert.deepEqual(JSON.parse((await license('reload', '--json')).out), { changed, license: status })
  }
})

test('a refused license file prints the error of the server and exits with 1', async (t) => {
  const detail = 'license: the file was refused, and the previous license remains valid: it ended 2030-01-01'
  const { license } = await start(t, {
    status: 422,
    body: { error: 'validation_error', detail, request_id: 'r-1', errors: [] },
  })
  assert.deepEqual(await license('reload'), { code: 1, out: '', err: `Error: ${detail} (request r-1)\n` })
})
