import assert from 'node:assert/strict'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { operations } from '@holdfast/contract'
import { type Answered, type Asked, startServer, startShell } from '../test/support/shell.ts'
import { version } from './version.ts'

const user = (n: number, username: string) => ({ user_id: `usr_${n}`, username, email: `${username}@example.com` })
const page = (items: object[]) => ({ body: { items, next_cursor: null } })

const answer = ({ line }: Asked): Answered => {
  if (line.startsWith('GET /v1/admin/users?')) return page([user(1, 'jane'), user(2, 'janet')])
  if (line.startsWith('GET /v1/admin/devices?'))
    return page(['dev_1', 'dev_2'].map((device_id) => ({ device_id, name: 'laptop' })))
  if (line.startsWith('GET /v1/admin/policy?'))
    return page([3, 2, 1].map((n) => ({ bundle_id: `pol_${n}`, version: n, current: n === 3, channel: 'stable' })))
  return { body: { user: { user_id: 'usr_1', status: 'active', locked_until: null }, changed: true, policy: {} } }
}

test('a name will do where an id is asked, in a path, a query or a body', async (t) => {
  const { url, asked } = await startServer(t, answer)
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const last = async (...args: string[]) => {
    assert.equal((await run(args)).code, 0, args.join(' '))
    return asked.at(-1)!
  }
  assert.equal((await last('user', 'show', 'Jane')).line, 'GET /v1/admin/users/usr_1')
  assert.equal((await last('user', 'show', 'janet@example.com')).line, 'GET /v1/admin/users/usr_2')
  assert.equal((await last('policy', 'show', '2')).line, 'GET /v1/admin/policy/pol_2')
  assert.equal((await last('policy', 'show', 'stable')).line, 'GET /v1/admin/policy/pol_3')
  assert.deepEqual((await last('role', 'grant', 'jane', 'auditor')).body, { user_id: 'usr_1', role: 'auditor' })
  const before = asked.length
  assert.equal((await last('user', 'show', 'usr_9')).line, 'GET /v1/admin/users/usr_9')
  assert.equal(asked.length, before + 1, 'an id is sent as it is')
})

test('a tenant and a plan are found by name, also the tenant of --tenant, which is looked for in none', async (t) => {
  const { url, asked } = await startServer(t, ({ line }) => {
    if (line.startsWith('GET /v1/admin/tenants?'))
      return page(['acme', 'acme2'].map((name, i) => ({ tenant_id: `tnt_${i + 1}`, name })))
    if (line.startsWith('GET /v1/admin/plans?')) return page([{ plan_id: 'pln_1', name: 'team' }])
    return line.startsWith('POST ')
      ? { body: { changed: true, tenant: {} } }
      : answer({ line, headers: {}, body: undefined })
  })
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const lines = async (...args: string[]) => {
    asked.length = 0
    assert.equal((await run(args)).code, 0, args.join(' '))
    return asked.map(({ line }) => line.replace('GET /v1/admin/', ''))
  }
  const search = 'tenants?q=acme&limit=200'
  assert.deepEqual(await lines('tenant', 'show', 'Acme'), ['tenants?q=Acme&limit=200', 'tenants/tnt_1'])
  assert.deepEqual(await lines('plan', 'show', 'team'), ['plans?limit=200', 'plans/pln_1'])
  await lines('tenant', 'update', 'acme', '--plan', 'team')
  assert.deepEqual(asked.at(-1)?.body, { operation: 'update', tenant_id: 'tnt_1', tenant: { plan_id: 'pln_1' } })

  assert.deepEqual(await lines('user', 'show', 'jane', '--tenant', 'tnt_9'), [
    'users?q=jane&limit=200&tenant_id=tnt_9',
    'users/usr_1?tenant_id=tnt_9',
  ])
  const [first, ...others] = await lines('user', 'show', 'jane', '--tenant', 'acme')
  assert.deepEqual([first, others], [search, ['users?q=jane&limit=200&tenant_id=tnt_1', 'users/usr_1?tenant_id=tnt_1']])
  assert.equal((await run(['user', 'show', 'jane', '--tenant', 'ac'])).err, 'Error: There is no tenant called ac.\n')
})

test('a name that nothing or more than one thing has is refused before anything is changed', async (t) => {
  const { url, asked } = await startServer(t, answer)
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const none = await run(['user', 'suspend', 'jan'])
  assert.deepEqual([none.code, none.err], [3, 'Error: There is no user called jan.\n'])
  const several = await run(['device', 'revoke', 'laptop', '--yes'])
  assert.deepEqual(
    [several.code, several.err],
    [2, 'Error: There are 2 devices called laptop. Name one by its id: dev_1, dev_2.\n'],
  )
  assert.ok(asked.every(({ line }) => line.startsWith('GET ')))
})

test('what a directory says is sent as it stands: its members are not names of ours', async (t) => {
  const run_id = 'run_1'
  const { url, asked } = await startServer(t, () => ({
    body: { run_id, status: 'applied', held_because: [], diff: [] },
  }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const file = join(mkdtempSync(join(tmpdir(), 'holdfast-')), 'corp.json')
  t.after(() => rmSync(dirname(file), { recursive: true }))
  const snapshot = {
    provider: 'corp',
    snapshot_id: '1',
    generated_at: '2026-01-31T09:30:00.000Z',
    full: true,
    users: [{ externalId: '1', userName: 'jane' }],
    groups: [{ externalId: 'g', displayName: 'sales', members: ['1'] }],
  }
  writeFileSync(file, JSON.stringify(snapshot))
  await run(['--json', 'directory', 'push', file])
  assert.deepEqual(
    asked.map((each) => each.line),
    ['POST /v1/admin/directory-sync/snapshot'],
  )
  assert.deepEqual(asked[0]?.body, snapshot)
})

test('every operation of an administrator has a command', () => {
  const sources = globSync(join(import.meta.dirname, '**/*.ts')).filter((f) => !basename(f).includes('test'))
  const text = sources.map((f) => readFileSync(f, 'utf8')).join('\n')
  const missing = operations.filter(
    ([name, { access, protocol }]) =>
      // Identity providers call the SCIM operations, TUF clients call tufTarget, the SDK transfers files and follows
      // changes, and listAllGateways also lists the gateways of a pool.
      protocol !== 'scim' &&
      name !== 'tufTarget' &&
      !['uploadPackage', 'exportAuditSyslog', 'getAuditExportManifest', 'listGateways', 'streamChanges'].includes(
        name,
      ) &&
      access.by !== 'anyone' &&
      access.by.some((kind) => kind === 'session' || kind === 'api_key') &&
      // Objects that can only be replaced as a whole are changed by the SDK's function for parts.
      !new RegExp(`\\.${name}\\(|\\b${name.replace(/^update/, 'change')}\\(`).test(text),
  )
  assert.deepEqual(
    missing.map(([name]) => name),
    [],
  )
})

test('it says which version it is, to people and to servers', async (t) => {
  const { url, asked } = await startServer(t, answer)
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  assert.deepEqual(await run(['--version']), { code: 0, out: `${version}\n`, err: '' })
  await run(['user', 'show', 'usr_1'])
  assert.equal(asked[0]?.headers['user-agent'], `holdfast-cli/${version}`)
})
