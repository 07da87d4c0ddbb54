import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from '@holdfast/sdk'
import { bootstrap } from '../../src/app/bootstrap.ts'
import { encodeId } from '../../src/kernel/ids.ts'
import { enroll } from '../support/actors/devices.ts'
import { makeUser, passwordOf, signInAs, trySignIn } from '../support/actors/people.ts'
import { refused } from '../support/clients/answers.ts'
import { adminPassword, type Kit, startKit } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

type Query = { tenant_id: string }
type Stop = (client: Client, user_id: string, query: Query) => Promise<unknown>
const playbook =
  (params: object = {}, dry_run = false): Stop =>
  (client, user_id, query) =>
    client.runPlaybook({ body: { playbook: 'compromised_user', params: { user_id, ...params }, dry_run }, query })
const workflow =
  (params: object = {}, dry_run = false): Stop =>
  (client, user_id, query) =>
    client.runWorkflow({ body: { workflow: 'offboard_user', params: { user_id, ...params }, dry_run }, query })
/**
 * Every way to stop a user; `modules/offboarding` lists the parts that end. Directories and providers keep the last
 * active administrator by themselves.
 */
const ways: Readonly<Record<string, Stop>> = {
  suspend: (client, user_id, query) => client.suspendUser({ body: { user_id }, query }),
  'lifecycle suspend': (client, user_id, query) =>
    client.changeUser({ body: { operation: 'suspend', user_id }, query }),
  delete: (client, user_id, query) => client.changeUser({ body: { operation: 'delete', user_id }, query }),
  lock: (client, id, query) => client.createLock({ body: { target: { type: 'user', id }, reason: 'stopped' }, query }),
  'revoke the role': (client, user_id, query) => client.revokeRole({ body: { user_id, role: 'tenant_admin' }, query }),
  compromised_user: playbook(),
  'compromised_user, suspended': playbook({ suspend: true, revoke_devices: true }),
  offboard_user: workflow(),
  'offboard_user, deleted': workflow({ delete: true }),
}
const dry: Readonly<Record<string, Stop>> = {
  'compromised_user, dry': playbook({}, true),
  'offboard_user, dry': workflow({}, true),
}

test('the platform can stop the only administrator of a tenant in every way, and the tenant in none', async (t) => {
  const kit = await startKit(t)
  const tenant = await kit.newTenant('acme')
  const query = { tenant_id: encodeId('tenant', tenant) }
  const ofTenant = await kit.as('tenant_admin', tenant)
  for (const [name, stop] of Object.entries(ways))
    await t.test(name, async () => {
      const username = `sole-${name.replaceAll(/\W+/g, '-')}`
      const { userId } = await kit.app.identity.createUser(tenant, {
        username,
        password: passwordOf(username),
        roles: ['tenant_admin'],
      })
      const user_id = encodeId('user', userId)
      const signedIn = await trySignIn(kit, `acme/${username}`, { password: passwordOf(username) })
      assert.equal(signedIn.status, 200, signedIn.text)
      const key = await kit.app.access.createKeyFor(tenant, { name: username, role: 'tenant_admin' })
      await kit.db.inTenant(tenant, (tx) =>
        tx
          .updateTable('api_keys')
          .set({ owner_tenant_id: tenant, owner_user_id: userId })
          .where('tenant_id', '=', tenant)
          .where('name', '=', username)
          .execute(),
      )
      const theirs = kit.clientFor(key)
      const last = refused(422, new RegExp(`${username} is the last active tenant_admin`))
      for (const [how, tried] of Object.entries({ ...dry, [name]: stop }))
        await assert.rejects(tried(ofTenant, user_id, query), last, how)
      const { items: runs } = await kit.admin.listWorkflowRuns({ query: { ...query, limit: 50 } })
      assert.ok(!runs.some((run) => run.requested_by.name === 'test tenant_admin'), 'refused before anything ran')
      assert.equal((await theirs.me()).credential, 'api_key')

      const said = JSON.stringify(await stop(kit.admin, user_id, query))
      assert.match(said, /"tenant_without_administrator"/)
      assert.match(said, /holdfast --tenant acme role grant NAME tenant_admin/)
      assert.match(said.replaceAll('"status":"succeeded"', ''), /^(?!.*"status":"failed")/)
      if (name === 'revoke the role') assert.deepEqual((await theirs.me()).permissions, [])
      else {
        await assert.rejects(theirs.me(), refused(401))
        assert.equal((await trySignIn(kit, `acme/${username}`, { password: passwordOf(username) })).status, 401)
      }
      const events = await kit.admin.listAuditEvents({ query: { ...query, limit: 50, target_id: user_id } })
      assert.ok(
        events.items.some((e) => JSON.stringify(e).includes('"warnings":["tenant_without_administrator"]')),
        'the audit event says it',
      )
      // The next one is the only administrator again.
      await kit.admin.revokeRole({ body: { user_id, role: 'tenant_admin' }, query }).catch(() => {})
    })
  await t.test('a playbook ends the keys that the user has or created; a new password does on request', () =>
    endKeys(kit),
  )
  await t.test('a playbook ends the enrollment tokens that the user, or a key of the user, created', () =>
    endTokens(kit, query),
  )
  await t.test(
    'recovery ends the keys and enrollment tokens that the emergency account has or created, in every tenant',
    () => endKeysByRecovery(kit, query),
  )
  await t.test('the last platform administrator stays, and the error says how to proceed', () =>
    keepLastPlatformAdministrator(kit),
  )
})

async function endKeys(kit: Kit): Promise<void> {
  const { userId } = await kit.app.identity.createUser(kit.tenant, {
    username: 'mallory',
    password: passwordOf('mallory'),
    roles: ['tenant_admin'],
  })
  const user_id = encodeId('user', userId)
  const { user: program } = await kit.admin.changeUser({
    body: { operation: 'create', user: { username: 'program', kind: 'service' } },
  })
  await kit.admin.grantRole({ body: { user_id: program.user_id, role: 'viewer' } })
  const makeKeys = async (round: string) => {
    const mallory = await signInAs(kit, 'mallory')
    const made = async (body: object) => {
      const got = await mallory.post('/v1/admin/api-keys', body)
      assert.equal(got.status, 201, got.text)
      return String(got.json.secret)
    }
    const own = await made({ name: `own ${round}`, role: 'tenant_admin' })
    const ofProgram = await made({ name: `of a program ${round}`, role: 'viewer', user_id: program.user_id })
    const chained = await kit.clientFor(own).createApiKey({
      body: { name: `made by a key ${round}`, role: 'viewer', user_id: program.user_id },
    })
    return [own, ofProgram, chained.secret].map((secret) => kit.clientFor(secret))
  }
  const other = await kit.admin.createApiKey({ body: { name: 'other', role: 'viewer', user_id: program.user_id } })
  const working = async (keys: readonly Client[]) =>
    (
      await Promise.all(
        keys.map((key) =>
          key.me().then(
            () => 1,
            () => 0,
          ),
        ),
      )
    ).join('')

  const first = await makeKeys('1')
  assert.equal(await working(first), '111')
  const reset = await kit.admin.changePassword({ body: { user_id, new_password: passwordOf('mallory') } })
  assert.deepEqual([reset.api_keys_revoked, reset.warnings.map((w) => w.code)], [0, ['api_keys_still_active']])
  assert.match(reset.warnings[0]?.message ?? '', /^3 API keys of mallory still work.*key revoke --all-of mallory/)
  assert.equal(await working(first), '111')
  const body = { user_id, new_password: `${passwordOf('mallory')} 2`, revoke_api_keys: true }
  const ended = await kit.admin.changePassword({ body })
  assert.deepEqual([ended.api_keys_revoked, ended.warnings], [3, []])
  assert.equal(await working(first), '000')
  assert.equal((await kit.admin.changePassword({ body })).api_keys_revoked, 0)

  await kit.admin.changePassword({ body: { user_id, new_password: passwordOf('mallory') } })
  const second = await makeKeys('2')
  const security = await kit.as('security_admin')
  await assert.rejects(
    security.revokeApiKeysOfUser({ body: { user_id } }),
    refused(403, /role tenant_admin, which has permissions that you do not have/),
  )
  await assert.rejects((await kit.as('operator')).revokeApiKeysOfUser({ body: { user_id } }), refused(403))
  const would = await kit.admin.revokeApiKeysOfUser({ body: { user_id, dry_run: true } })
  assert.deepEqual([would.changed, would.key_ids.length], [false, 3])
  assert.equal(await working(second), '111')
  const { run } = await kit.admin.runPlaybook({ body: { playbook: 'compromised_user', params: { user_id } } })
  assert.equal(run.status, 'succeeded', JSON.stringify(run.steps))
  assert.equal(run.steps.find((s) => s.action === 'revokeApiKeysOfUser')?.affects_count, 3)
  const [lock] = (await kit.admin.listLocks({ query: { target_type: 'user' } })).items
  await kit.admin.releaseLock({ params: { lock_id: lock!.lock_id }, body: {} })
  assert.equal(await working(second), '000', 'also after the lock')
  assert.equal(await working([kit.clientFor(other.secret)]), '1', 'keys that others made go on')
  const revoked = await eventsOf(kit, 'api_key.revoked')
  assert.equal(revoked.length, 6)
  const again = await kit.admin.revokeApiKeysOfUser({ body: { user_id } })
  assert.deepEqual(again, { changed: false, key_ids: [], token_ids: [] })
}

async function endTokens(kit: Kit, { tenant_id }: Query): Promise<void> {
  const user_id = await makeUser(kit, 'mal', ['platform_admin'])
  const mal = await signInAs(kit, 'mal')
  const made = async (path: string, body: object) => {
    const got = await mal.post(path, body)
    assert.equal(got.status, 201, got.text)
    return String(got.json.secret)
  }
  const elsewhere = `?tenant_id=${tenant_id}`
  const unbounded = { max_uses: 0 }
  const key = kit.clientFor(await made('/v1/admin/api-keys', { name: 'mal', role: 'platform_admin' }))
  const { api_key, secret } = await key.createApiKey({ body: { name: 'chained', role: 'platform_admin' } })
  const ofEnded = (await kit.clientFor(secret).generateToken({ body: unbounded })).secret
  await key.revokeApiKey({ params: { key_id: api_key.key_id }, body: {} })
  const tokens = {
    own: await made('/v1/admin/tokens/generate', unbounded),
    'of a key': (await key.generateToken({ body: unbounded })).secret,
    'of a key that is revoked': ofEnded,
    'in another tenant': await made(`/v1/admin/tokens/generate${elsewhere}`, unbounded),
    'of a key, in another tenant': (await key.generateToken({ body: unbounded, query: { tenant_id } })).secret,
  }
  const other = (await kit.admin.generateToken({ body: unbounded })).secret
  for (const [name, secret] of Object.entries(tokens)) await enroll(kit, `before ${name}`, { secret })

  const would = await kit.admin.revokeApiKeysOfUser({ body: { user_id, dry_run: true } })
  assert.deepEqual([would.changed, would.key_ids.length, would.token_ids.length], [false, 1, 3])
  await enroll(kit, 'after a dry run', { secret: tokens.own })
  const run = async (dry_run: boolean) => {
    const params = { user_id, suspend: true, revoke_devices: true }
    return (await kit.admin.runPlaybook({ body: { playbook: 'compromised_user', params, dry_run } })).run
  }
  const affected = ({ steps }: Awaited<ReturnType<typeof run>>) =>
    steps
      .find((s) => s.action === 'revokeApiKeysOfUser')
      ?.affects.filter((a) => a.type === 'enrollment_token')
      .map((a) => a.id)
  assert.deepEqual(affected(await run(true)), would.token_ids)
  const done = await run(false)
  assert.equal(done.status, 'succeeded', JSON.stringify(done.steps))
  assert.deepEqual(affected(done), would.token_ids)
  await kit.heard()
  for (const [name, secret] of Object.entries(tokens))
    await assert.rejects(enroll(kit, `after ${name}`, { secret }), refused(401), name)
  await enroll(kit, 'by the token of somebody else', { secret: other })
  const revoked = await eventsOf(kit, 'enrollment_token.revoked')
  assert.deepEqual(revoked.map((e) => e.token_id).sort(), [...would.token_ids].sort())
  const there = await kit.admin.listAuditEvents({ query: { tenant_id, kind: 'enrollment_token.revoked' } })
  assert.equal(there.items.length, 2)
}

async function keepLastPlatformAdministrator(kit: Kit): Promise<void> {
  const [root] = (await kit.admin.listUsers({ query: { q: 'admin', role: 'platform_admin' } })).items
  const query = { tenant_id: encodeId('tenant', kit.tenant) }
  const last = refused(422, /last active platform_admin.*HOLDFAST_BREAK_GLASS_PASSWORD/)
  for (const [name, stop] of Object.entries(ways)) {
    if (name === 'revoke the role') continue
    await assert.rejects(stop(kit.admin, root!.user_id, query), last, name)
  }
  const role = 'platform_admin' as const
  await assert.rejects(kit.admin.revokeRole({ body: { user_id: root!.user_id, role } }), last)
  // The tenant still has its platform administrator, so there is no warning.
  const { userId } = await kit.app.identity.createUser(kit.tenant, {
    username: 'only',
    password: passwordOf('only'),
    roles: ['tenant_admin'],
  })
  const { warnings } = await kit.admin.suspendUser({ body: { user_id: encodeId('user', userId) } })
  assert.deepEqual(warnings, [])
}

async function endKeysByRecovery(kit: Kit, { tenant_id }: Query): Promise<void> {
  const warned: string[] = []
  const recover = (breakGlassPassword: string) =>
    bootstrap(
      kit.app,
      { adminPassword, breakGlassPassword },
      () => assert.fail(),
      (text) => warned.push(text),
    )
  await recover('the first one in the drawer')
  const account = await signInAs(kit, 'break-glass', { password: 'the first one in the drawer' })
  const { user: program } = await kit.admin.changeUser({
    body: { operation: 'create', user: { username: 'emergency-program', kind: 'service' } },
  })
  await kit.admin.grantRole({ body: { user_id: program.user_id, role: 'platform_admin' } })
  const made = async (more: object, path = '/v1/admin/api-keys') => {
    const got = await account.post(path, { name: 'kept', role: 'platform_admin', ...more })
    assert.equal(got.status, 201, got.text)
    return kit.clientFor(String(got.json.secret))
  }
  const keys = [
    await made({}),
    await made({ user_id: program.user_id }),
    await made({}, `/v1/admin/api-keys?tenant_id=${tenant_id}`),
  ]
  const token = async (path: string) => String((await account.post(path, { max_uses: 0 })).json.secret)
  const tokens = [
    await token('/v1/admin/tokens/generate'),
    await token(`/v1/admin/tokens/generate?tenant_id=${tenant_id}`),
  ]
  for (const [i, secret] of tokens.entries()) await enroll(kit, `before recovery ${i}`, { secret })
  await recover('the second one in the drawer')
  await kit.heard()
  for (const [i, key] of keys.entries()) await assert.rejects(key.me(), refused(401), `key ${i}`)
  for (const [i, secret] of tokens.entries())
    await assert.rejects(enroll(kit, `after recovery ${i}`, { secret }), refused(401), `token ${i}`)
  assert.match(warned.join(), /3 api keys, 2 enrollment tokens, 1 sessions/)
  const user_id = (await kit.admin.listUsers({ query: { q: 'break-glass' } })).items[0]?.user_id ?? ''
  await kit.admin.changeUser({ body: { operation: 'delete', user_id } })
}
