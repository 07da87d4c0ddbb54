import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Answered, type Asked, startServer, startShell } from '../../test/support/shell.ts'

const acme = { tenant_id: 'tnt_1', name: 'acme', status: 'active', plan: 'team', delete_after: null }
const path = '/v1/admin/tenants/lifecycle'

async function start(t: TestContext, answer: (asked: Asked) => Answered) {
  const { url, asked } = await startServer(t, answer)
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  return { asked, run: (line: string) => run(line.split(' ')) }
}
const changed = (more: object = {}) => ({ body: { changed: true, tenant: acme, administrator: null, ...more } })

test('tenants are listed by status, plan and name', async (t) => {
  const { asked, run } = await start(t, () => ({ body: { items: [acme], next_cursor: null } }))
  const { out } = await run('tenant list --status active --plan pln_1 --q ac --limit 5')
  assert.match(out, /^TENANT +NAME +DISPLAY NAME +STATUS +PLAN .+\ntnt_1 +acme +- +active +team /)
  assert.equal(asked[0]?.line, 'GET /v1/admin/tenants?status=active&q=ac&plan_id=pln_1&limit=5')
})

test('a tenant is created with its first administrator, whose password alone is printed to stdout', async (t) => {
  const first = { user_id: 'usr_1', username: 'jane', secret: 's3cret' }
  const { asked, run } = await start(t, () => changed({ administrator: first }))
  const line = 'tenant create acme --plan pln_1 --limit users=50 devices= --admin jane --admin-email j@acme.example'
  const { code, out, err } = await run(line)
  assert.deepEqual([code, out], [0, 's3cret\n'])
  assert.match(err, /^Tenant tnt_1\. .+ acme\/jane\. It must be changed at the first sign-in\. .+ only this once\.\n$/)
  assert.doesNotMatch(err, /s3cret/)
  assert.deepEqual(asked[0], {
    ...asked[0],
    line: `POST ${path}`,
    body: {
      operation: 'create',
      tenant: { name: 'acme', plan_id: 'pln_1', limits: { users: 50, devices: null } },
      administrator: { username: 'jane', email: 'j@acme.example' },
    },
  })
  assert.deepEqual(JSON.parse((await run(`${line} --json`)).out).administrator, first)
})

test('creating a tenant without an administrator prints that nobody can sign in yet', async (t) => {
  const { asked, run } = await start(t, () => changed())
  const { code, out, err } = await run('tenant create acme')
  assert.equal(code, 0)
  assert.match(out, /^tenant_id +tnt_1\n/)
  assert.match(err, /Nobody can sign in to the tenant yet.+--tenant acme\.\n$/)
  assert.deepEqual(asked[0]?.body, { operation: 'create', tenant: { name: 'acme' } })
  assert.equal((await run('tenant create acme --admin-email j@acme.example')).code, 2)
})

test('a tenant update sends the named fields, and null for cleared ones', async (t) => {
  const { asked, run } = await start(t, () => changed())
  await run('tenant update tnt_1 --name acme2 --display-name Acme --plan pln_2 --limit users=0 --reason asked')
  await run('tenant update tnt_1 --no-plan --limit bandwidth_gb_month=')
  const update = { operation: 'update', tenant_id: 'tnt_1' }
  assert.deepEqual(
    asked.map(({ body }) => body),
    [
      {
        ...update,
        tenant: { name: 'acme2', display_name: 'Acme', plan_id: 'pln_2', limits: { users: 0 } },
        reason: 'asked',
      },
      { ...update, tenant: { plan_id: null, limits: { bandwidth_gb_month: null } } },
    ],
  )
  assert.equal((await run('tenant update tnt_1 --reason none')).code, 2)
})

test('malformed limits are refused before any request', async (t) => {
  const { asked, run } = await start(t, () => changed())
  for (const [limits, said] of [
    ['seats=5', /no limit of seats\. The limits are: users, .+bandwidth_gb_month\./],
    ['users', /must look like users=50/],
    ['users=-1', /must look like users=50/],
    ['users=1.5', /must look like users=50/],
    ['users=1 users=2', /users is set twice/],
  ] as const) {
    const { code, out, err } = await run(`tenant update tnt_1 --limit ${limits}`)
    assert.deepEqual([code, out], [2, ''], limits)
    assert.match(err, said)
  }
  assert.deepEqual(asked, [])
})

test('each status change of a tenant is one request; suspension and deletion need a confirmation', async (t) => {
  const { asked, run } = await start(t, () => changed())
  for (const move of ['suspend', 'delete']) {
    const { code, err } = await run(`tenant ${move} tnt_1`)
    assert.equal(code, 2)
    assert.match(err, /^Error: .+ tnt_1\? Its users cannot sign in then.+ Add --yes .+\n$/)
  }
  assert.deepEqual(asked, [])
  await run('tenant suspend tnt_1 --yes --reason unpaid')
  await run('tenant reactivate tnt_1')
  await run('tenant delete tnt_1 --yes --delay 30d')
  await run('tenant cancel-deletion tnt_1')
  assert.deepEqual(
    asked.map(({ body }) => body),
    [
      { operation: 'suspend', tenant_id: 'tnt_1', reason: 'unpaid' },
      { operation: 'reactivate', tenant_id: 'tnt_1' },
      { operation: 'delete', tenant_id: 'tnt_1', delay_seconds: 30 * 86_400 },
      { operation: 'cancel_deletion', tenant_id: 'tnt_1' },
    ],
  )
})

test('a deletion prints its time and how to cancel it; a repeated one changes nothing', async (t) => {
  const tenant = { ...acme, status: 'deleting', delete_after: '2030-01-08T00:00:00.000Z' }
  const { run } = await start(t, () => changed({ changed: false, tenant }))
  const { out, err } = await run('tenant delete tnt_1 --yes')
  assert.match(out, /^status +deleting$/m)
  assert.match(err, /^No change\.\nThe tenant is deleted at 2030-01-08T00:00:00\.000Z\. .+cancel-deletion acme\n$/)
})
