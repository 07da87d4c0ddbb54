import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Role, roleNames } from '@holdfast/contract/vocabulary'
import { changeSecuritySettings } from '@holdfast/sdk'
import { encodeId } from '../../src/kernel/ids.ts'
import { makeUser, signInAs, untilStatus } from '../support/actors/people.ts'
import { refused } from '../support/clients/answers.ts'
import { send } from '../support/clients/raw-http.ts'
import { createClock, startKit, times } from '../support/deployment/deployment.ts'
import { assertOneASecond } from '../support/deployment/request-rate.ts'
import { until } from '../support/deployment/wait-until.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

const use = (url: string, key: string, more: { localAddress?: string } = {}) =>
  send(url, { path: '/v1/admin/me', headers: { authorization: `Bearer ${key}` }, ...more })

test('API keys', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const { admin, url, adminKey, as, keyFor, newTenant } = kit

  await t.test('a wrong, changed or unknown key is 401', async () => {
    const flipped = adminKey.slice(0, 30) + (adminKey[30] === 'a' ? 'b' : 'a') + adminKey.slice(31)
    for (const key of [flipped, adminKey.slice(0, -1), adminKey.replace('hfk_', 'hfg_'), `${adminKey}x`])
      assert.equal((await use(url, key)).status, 401, key)
  })

  await t.test('a caller can create and revoke only keys within its own permissions', async () => {
    const minting = async (role: Role) => {
      const client = await as(role)
      const minted: Role[] = []
      for (const wanted of roleNames)
        await client.createApiKey({ body: { name: 'x', role: wanted } }).then(
          () => minted.push(wanted),
          (e) => assert.ok(refused(403)(e)),
        )
      return minted
    }
    assert.deepEqual(await minting('platform_admin'), roleNames)
    assert.deepEqual(
      await minting('tenant_admin'),
      roleNames.filter((r) => r !== 'platform_admin'),
    )
    assert.deepEqual(await minting('security_admin'), [])
    const events = (await eventsOf(kit, 'request.refused')).filter((e) => e.operation === 'createApiKey')
    assert.equal(events.length, 1 + roleNames.length)

    const { api_key } = await kit.admin.createApiKey({ body: { name: 'root', role: 'platform_admin' } })
    const tenantAdmin = await as('tenant_admin')
    await assert.rejects(tenantAdmin.revokeApiKey({ params: { key_id: api_key.key_id } }), refused(403))
  })

  await t.test('a key ends at its expiry and works only from its allowed addresses', async () => {
    const expiring = await admin.createApiKey({ body: { name: 'short', role: 'viewer', expires_in_seconds: 3600 } })
    assert.equal((await use(url, expiring.secret)).status, 200)
    clock.advance(3601)
    assert.equal((await use(url, expiring.secret)).status, 401)
    const expired = await admin.listApiKeys({ query: { status: 'expired' } })
    assert.deepEqual(
      expired.items.map((k) => [k.name, k.status]),
      [['short', 'expired']],
    )
    const bound = await admin.createApiKey({
      body: { name: 'bound', role: 'viewer', allowed_cidrs: ['127.0.0.2/32', '::1'] },
    })
    assert.equal((await use(url, bound.secret)).status, 401)
    assert.equal((await use(url, bound.secret, { localAddress: '127.0.0.2' })).status, 200)
    const wrong = admin.createApiKey({
      body: { name: 'x', role: 'viewer', allowed_cidrs: ['10.0.0.0/8', '10.0.0.0/33'] },
    })
    await assert.rejects(wrong, refused(422, /allowed_cidrs\[1\]/))
  })

  await t.test(
    'a key created by a key ends with it at the latest, and works only from the same addresses',
    async () => {
      const refusals = async () =>
        (await eventsOf(kit, 'request.refused')).filter((e) => e.operation === 'createApiKey')
      const before = await refusals()
      const hours = (n: number) => n * 3600
      const bounds = { expires_in_seconds: hours(2), allowed_cidrs: ['127.0.0.0/24', '::1'] }
      const maker = await admin.createApiKey({ body: { name: 'maker', role: 'tenant_admin', ...bounds } })
      const make = async (more: object) => {
        const json = { name: 'made', role: 'viewer', ...more }
        const headers = { authorization: `Bearer ${maker.secret}` }
        return send(url, { method: 'POST', path: '/v1/admin/api-keys', json, headers })
      }

      const derived = await make({})
      assert.equal(derived.status, 201, derived.text)
      assert.equal(derived.json.api_key.expires_at, maker.api_key.expires_at)
      assert.deepEqual(derived.json.api_key.allowed_cidrs, bounds.allowed_cidrs)
      const narrower = await make({ expires_in_seconds: hours(1), allowed_cidrs: ['127.0.0.2'] })
      assert.equal(narrower.status, 201, narrower.text)
      const beyond: [object, RegExp][] = [
        [{ expires_in_seconds: hours(3) }, /must not expire later than your key/],
        [{ allowed_cidrs: ['127.0.0.0/8'] }, /127\.0\.0\.0\/8/],
        [{ allowed_cidrs: ['127.0.0.2', '0.0.0.0/0'] }, /0\.0\.0\.0\/0/],
        [{ allowed_cidrs: ['::/0'] }, /::/],
        [{ role: 'platform_admin' }, /platform_admin/],
      ]
      for (const [more, why] of beyond) {
        const got = await make(more)
        assert.equal(got.status, 403, JSON.stringify(more))
        assert.match(got.json.detail, why)
      }
      assert.equal((await refusals()).length - before.length, beyond.length)

      clock.advance(7201)
      assert.equal((await use(url, derived.json.secret)).status, 401)
      const tenant = await newTenant()
      const across = await admin.createApiKey({
        body: { name: 'elsewhere', role: 'viewer' },
        query: { tenant_id: encodeId('tenant', tenant) },
      })
      assert.equal(across.api_key.expires_at, null, 'a key without bounds passes none on, in another tenant too')
    },
  )

  await t.test('keys of another tenant are not found', async () => {
    const tenant = await newTenant()
    const other = await as('tenant_admin', tenant)
    const { api_key } = await admin.createApiKey({ body: { name: 'ours', role: 'viewer' } })
    for (const key_id of [api_key.key_id, 'key_nonsense', 'x'])
      await assert.rejects(other.revokeApiKey({ params: { key_id } }), refused(404))
    assert.deepEqual(
      (await other.listApiKeys()).items.map((k) => k.name),
      ['test tenant_admin'],
    )
    const scope = { query: { tenant_id: encodeId('tenant', tenant) } }
    const inside = await admin.createApiKey({ body: { name: 'inside', role: 'viewer' }, ...scope })
    assert.equal(inside.api_key.tenant_id, encodeId('tenant', tenant))
    await assert.rejects(other.listApiKeys({ query: { tenant_id: api_key.tenant_id } }), refused(403))
  })

  await t.test('keys are listed by page and status', async () => {
    const tenant = await newTenant()
    const admin = await as('tenant_admin', tenant)
    for (let i = 0; i < 5; i++) await keyFor('viewer', tenant)
    const first = await admin.listApiKeys({ query: { limit: 4 } })
    const second = await admin.listApiKeys({ query: { limit: 4, cursor: first.next_cursor! } })
    const all = [...first.items, ...second.items]
    assert.equal(new Set(all.map((k) => k.key_id)).size, 6)
    assert.equal(second.next_cursor, null)
    await admin.revokeApiKey({ params: { key_id: first.items[0]!.key_id } })
    assert.equal((await admin.listApiKeys({ query: { status: 'revoked' } })).items.length, 1)
    assert.equal((await admin.listApiKeys({ query: { status: 'active' } })).items.length, 5)
  })

  await t.test('a key above its rate is throttled, and no other key', async () => {
    const tenant = await newTenant()
    const admin = await as('tenant_admin', tenant)
    await changeSecuritySettings(admin, { api: { requests_per_minute_per_key: 60 } })
    const [busy, calm] = await Promise.all([keyFor('viewer', tenant), keyFor('viewer', tenant)])
    const began = performance.now()
    const answers = await times(30, () => use(url, busy))
    assertOneASecond(answers, 200, began)
    const limited = answers.find((a) => a.status === 429)
    assert.equal(limited?.json.error, 'rate_limited')
    assert.ok(Number(limited?.headers['retry-after']) >= 1)
    assert.equal((await use(url, calm)).status, 200)
  })

  await t.test('an API key works until it is revoked, and its secret is shown once', async () => {
    const { api_key, secret } = await admin.createApiKey({ body: { name: 'ci', role: 'viewer' } })
    assert.match(secret, /^hfk_[0-9A-Za-z]{76}$/)
    assert.equal(api_key.hint, secret.slice(-4))
    assert.equal(api_key.status, 'active')
    assert.match(String(api_key.created_by), /^key_/)

    const me = await use(url, secret)
    assert.equal(me.json.credential, 'api_key')
    assert.equal(me.json.key_id, api_key.key_id)
    assert.deepEqual(me.json.roles, ['viewer'])
    const used = (await eventsOf(kit, 'api_key.used')).filter((e) => e.key_id === api_key.key_id)
    assert.deepEqual(
      used.map((e) => e.endpoint),
      ['GET /v1/admin/me'],
    )

    await kit.app.access.stop()
    const listed = (await admin.listApiKeys()).items.find((k) => k.key_id === api_key.key_id)
    assert.ok(listed?.last_used_at)
    assert.ok(!JSON.stringify(listed).includes(secret))

    const revoked = await times(20, () =>
      admin.revokeApiKey({ params: { key_id: api_key.key_id }, body: { reason: 'done' } }),
    )
    assert.equal(revoked.filter((r) => r.changed).length, 1)
    assert.equal((await use(url, secret)).status, 401)
    const recorded = await eventsOf(kit, 'api_key.revoked')
    assert.deepEqual(
      recorded.map((e) => e.details),
      [{ reason: 'done' }],
    )
    assert.ok(!kit.logs.join('').includes(secret))
  })

  await t.test('the audit event of a key names its owner, not the person who created or revoked it', async () => {
    const owner = await makeUser(kit, 'maker', ['tenant_admin'])
    const made = await (await signInAs(kit, 'maker')).post('/v1/admin/api-keys', { name: 'theirs', role: 'viewer' })
    assert.equal(made.status, 201, made.text)
    const { key_id } = made.json.api_key as { key_id: string }
    await admin.revokeApiKey({ params: { key_id } })
    for (const kind of ['api_key.created', 'api_key.revoked'] as const) {
      const events = await eventsOf(kit, kind)
      assert.equal(events.find((e) => e.key_id === key_id)?.user_id, owner, kind)
      assert.equal(events.at(-1)?.user_id, undefined, 'a key that nobody owns')
    }
  })
})

test('keys, settings and tenants on two replicas', async (t) => {
  const kit = await startKit(t, { replicas: 2 })

  await t.test('a revocation takes effect on the other replica at once', async () => {
    const { api_key, secret } = await kit.admin.createApiKey({ body: { name: 'ci', role: 'viewer' } })
    const [here, there] = kit.replicas.map((r) => r.url) as [string, string]
    assert.equal((await use(there, secret)).status, 200)
    await kit.admin.revokeApiKey({ params: { key_id: api_key.key_id } })
    assert.equal((await use(here, secret)).status, 401)
    await untilStatus(() => use(there, secret), 401)
  })

  await t.test(
    "concurrent changes of settings keep each other's fields, and their events name the old values",
    async () => {
      const other = kit.clientFor(kit.adminKey, kit.replicas[1]!)
      assert.equal((await other.getSecuritySettings()).login.lockout_threshold, 10)
      const changes = [
        { login: { lockout_threshold: 7 } },
        { login: { window_seconds: 77 } },
        { sessions: { idle_seconds: 777 } },
        { devices: { approval: true } },
      ]
      await times(20, (i) => changeSecuritySettings(i % 2 ? kit.admin : other, changes[i % 4]!))
      const after = await kit.admin.getSecuritySettings()
      assert.deepEqual(
        [
          after.login.lockout_threshold,
          after.login.window_seconds,
          after.sessions.idle_seconds,
          after.devices.approval,
        ],
        [7, 77, 777, true],
      )
      const recorded = await eventsOf(kit, 'security_settings.updated')
      assert.equal(recorded.length, 4)
      const threshold = recorded.find((e) => e.changes && 'login.lockout_threshold' in e.changes)
      assert.deepEqual(threshold?.changes, { 'login.lockout_threshold': [10, 7] })
      await until(async () => (await other.getSecuritySettings()).login.lockout_threshold === 7)
      await assert.rejects(
        changeSecuritySettings(kit.admin, { login: { lockout_threshold: 0 } }),
        refused(422, /lockout_threshold/),
      )
    },
  )

  await t.test('concurrent first starts agree on one tenant', async () => {
    const made = await times(8, (i) => kit.replicas[i % 2]!.app.tenancy.createTenant('acme'))
    assert.equal(new Set(made).size, 1)
    assert.equal((await kit.app.tenancy.listTenantIds()).length, 2)
    const query = { tenant_id: encodeId('tenant', made[0]!), kind: 'tenant.changed' }
    assert.equal((await kit.admin.listAuditEvents({ query })).items.length, 1)
    assert.equal(await kit.app.tenancy.exists(made[0]!), true)
    assert.equal(await kit.app.tenancy.nameOf(made[0]!), 'acme')
  })
})
