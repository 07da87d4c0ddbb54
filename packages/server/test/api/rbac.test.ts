import assert from 'node:assert/strict'
import { test } from 'node:test'
import { permissions, type Role, roleNames, roles } from '@holdfast/contract/vocabulary'
import { encodeId } from '../../src/kernel/ids.ts'
import { makeUser, signInAs, untilStatus } from '../support/actors/people.ts'
import { hasPermission } from '../support/actors/roles.ts'
import { refused } from '../support/clients/answers.ts'
import { type Kit, startKit, times } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

/** The rule of the design: no role may grant more than it has itself. */
const mayHandOut = (own: Role, other: Role) =>
  own === 'platform_admin' || (other !== 'platform_admin' && roles[other].every((p) => hasPermission(own, p)))

test('roles and grants', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  await t.test('a role is granted and revoked once, and takes effect on every replica at once', () =>
    grantAndRevoke(kit),
  )
  await t.test('roles list their permissions, and grants their holders, by page and filter', () =>
    listRolesAndGrants(kit),
  )
  await t.test(
    'a caller can grant and revoke only roles within its own permissions, and every attempt is recorded',
    () => grantWithinPermissions(kit),
  )
  await t.test('a caller cannot change roles of a stronger user; a user of another tenant is not found', () =>
    refuseStrongerUser(kit),
  )
  await t.test('a grant warns about other callers who set the sign-in of the user', () => warnsOfSetters(kit))
  await t.test('a session cannot raise its own permissions', () => refuseOwnSession(kit))
  await t.test('of twenty concurrent removals of the last two administrators, one administrator stays', () =>
    removeLastTwo(kit),
  )
  await t.test('the last administrator can be removed when another exists, and a suspended one does not count', () =>
    removeFormerLast(kit),
  )
})

async function grantAndRevoke(kit: Kit): Promise<void> {
  const user_id = await makeUser(kit, 'ana')
  const person = await signInAs(kit, 'ana')
  for (const replica of kit.replicas) assert.equal((await person.get('/v1/admin/users', replica)).status, 403)

  const body = { user_id, role: 'viewer', reason: 'new colleague' } as const
  const granted = await times(8, (i) => kit.clientFor(kit.adminKey, kit.replicas[i % 2]!).grantRole({ body }))
  assert.equal(granted.filter((g) => g.changed).length, 1)
  assert.ok(granted.every((g) => g.user.roles.includes('viewer')))
  for (const replica of kit.replicas) await untilStatus(() => person.get('/v1/admin/users', replica), 200)
  assert.deepEqual(
    (await kit.admin.listUsers({ query: { role: 'viewer' } })).items.map((u) => u.username),
    ['ana'],
  )

  const revoked = await times(8, (i) => kit.clientFor(kit.adminKey, kit.replicas[i % 2]!).revokeRole({ body }))
  assert.equal(revoked.filter((g) => g.changed).length, 1)
  for (const replica of kit.replicas) await untilStatus(() => person.get('/v1/admin/users', replica), 403)

  for (const kind of ['role.granted', 'role.revoked'] as const) {
    const events = await eventsOf(kit, kind)
    assert.deepEqual(
      events.map((e) => [e.user_id, e.role, e.target?.name, e.details]),
      [[user_id, 'viewer', 'ana', { reason: 'new colleague' }]],
    )
  }
}

async function warnsOfSetters(kit: Kit): Promise<void> {
  const helper = await kit.as('helpdesk')
  const grant = (user_id: string, role: Role) => kit.admin.grantRole({ body: { user_id, role } })
  const own = await makeUser(kit, 'set-by-nobody')
  await kit.admin.changePassword({ body: { user_id: own, new_password: 'a password of the caller' } })
  assert.deepEqual((await grant(own, 'viewer')).warnings, [])

  const user_id = await makeUser(kit, 'set-by-helpdesk')
  await helper.changePassword({ body: { user_id, new_password: 'a password of the help desk' } })
  const granted = await grant(user_id, 'auditor')
  assert.deepEqual(
    granted.warnings.map((w) => w.code),
    ['sign_in_set_by_others'],
  )
  assert.match(
    granted.warnings[0]?.message ?? '',
    /last 7 days, 1 other person or API key .*holdfast audit list --target set-by-helpdesk$/,
  )
  assert.deepEqual((await grant(user_id, 'auditor')).warnings, [], 'nothing changed')
  const events = (await eventsOf(kit, 'role.granted')).filter((e) => e.user_id === user_id)
  assert.deepEqual(
    events.map((e) => e.details),
    [{ warnings: ['sign_in_set_by_others'] }],
  )
  await kit.app.db.inTenant(kit.tenant, (tx) =>
    tx
      .updateTable('credential_setters')
      .set({ set_at: new Date(Date.now() - 8 * 86_400_000) })
      .where('tenant_id', '=', kit.tenant)
      .execute(),
  )
  assert.deepEqual((await grant(user_id, 'viewer')).warnings, [], 'older than 7 days')
}

async function listRolesAndGrants(kit: Kit): Promise<void> {
  const { items } = await kit.admin.listRoles()
  assert.deepEqual(
    items.map((r) => r.role),
    roleNames,
  )
  for (const { role, permissions: held } of items) assert.deepEqual(held, [...roles[role]].sort())
  assert.ok(items.every((r) => r.permissions.every((p) => permissions.includes(p))))

  const ids = await Promise.all(['a', 'b', 'c'].map((name) => makeUser(kit, name)))
  for (const user_id of ids)
    for (const role of ['viewer', 'auditor'] as const) await kit.admin.grantRole({ body: { user_id, role } })
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const page = await kit.admin.listGrants({ query: { limit: 2, ...(cursor && { cursor }) } })
    seen.push(...page.items.map((g) => `${g.username} ${g.role}`))
    cursor = page.next_cursor ?? undefined
  } while (cursor)
  assert.equal(new Set(seen).size, 7)
  assert.equal(seen.length, 7)
  const [newest] = (await kit.admin.listGrants({ query: { user_id: ids[2]!, role: 'auditor' } })).items
  assert.match(String(newest?.granted_by), /^key_/)
  await assert.rejects(kit.admin.listGrants({ query: { user_id: 'usr_nonsense' } }), refused(400))
  const foreign = await kit.as('tenant_admin', await kit.newTenant())
  assert.deepEqual((await foreign.listGrants()).items, [])
}

async function grantWithinPermissions(kit: Kit): Promise<void> {
  const user_id = await makeUser(kit, 'target')
  await makeUser(kit, 'who-stays', ['tenant_admin'])
  let refusals = 0
  for (const [n, own] of roleNames.entries()) {
    const client = await kit.as(own)
    for (const [m, role] of roleNames.entries()) {
      const body = { user_id, role }
      if (hasPermission(own, 'rbac:write') && mayHandOut(own, role))
        for (const change of [client.grantRole, client.revokeRole])
          assert.equal((await change({ body })).changed, true, `${own} ${role}`)
      else {
        // Grant and revoke alternate: neither check uses the other.
        const change = (n + m) % 2 ? client.grantRole : client.revokeRole
        refusals++
        await assert.rejects(change({ body }), refused(403), `${own} ${role}`)
      }
    }
  }
  assert.ok(refusals > 30)
  const events = (await eventsOf(kit, 'request.refused')).filter((e) =>
    /^(grant|revoke)Role$/.test(String(e.operation)),
  )
  assert.equal(events.length, refusals)
  assert.deepEqual((await kit.admin.getUser({ params: { user_id } })).roles, [])
}

async function refuseStrongerUser(kit: Kit): Promise<void> {
  const stronger = await makeUser(kit, 'root', ['platform_admin', 'viewer'])
  const tenantAdmin = await kit.as('tenant_admin')
  for (const change of [tenantAdmin.grantRole, tenantAdmin.revokeRole])
    await assert.rejects(change({ body: { user_id: stronger, role: 'viewer' } }), refused(403, /platform_admin/))
  const foreign = await kit.as('tenant_admin', await kit.newTenant())
  for (const user_id of [stronger, 'usr_nonsense', encodeId('user', crypto.randomUUID())])
    await assert.rejects(foreign.grantRole({ body: { user_id, role: 'viewer' } }), refused(404))
}

async function refuseOwnSession(kit: Kit): Promise<void> {
  const ids = new Set<string>()
  for (const role of roleNames) {
    if (role === 'platform_admin') continue
    const user_id = await makeUser(kit, role, [role])
    ids.add(user_id)
    const person = await signInAs(kit, role)
    const stronger = role === 'tenant_admin' ? 'platform_admin' : 'tenant_admin'
    assert.equal((await person.post('/v1/admin/rbac/grant', { user_id, role: stronger })).status, 403, role)
    const key = await person.post('/v1/admin/api-keys', { name: 'stronger', role: stronger })
    assert.equal(key.status, 403, role)
  }
  const theirs = (await eventsOf(kit, 'request.refused')).filter((e) => ids.has(String(e.actor.id)))
  const operations = theirs.map((e) => e.operation)
  for (const operation of ['grantRole', 'createApiKey'])
    assert.equal(operations.filter((o) => o === operation).length, roleNames.length - 1, operation)
}

const twoAdmins = async (kit: Kit) => {
  const tenant = await kit.newTenant()
  const query = { tenant_id: encodeId('tenant', tenant) }
  const ids = await Promise.all(
    ['a', 'b'].map(async (username) => {
      const { userId } = await kit.app.identity.createUser(tenant, { username, password: 'x', roles: ['tenant_admin'] })
      return encodeId('user', userId)
    }),
  )
  // An administrator of the platform may suspend both (`administrator-stops.test.ts`).
  return { query, ids, key: await kit.keyFor('tenant_admin', tenant) }
}

async function removeLastTwo(kit: Kit): Promise<void> {
  for (let round = 0; round < 3; round++) {
    const { query, ids, key } = await twoAdmins(kit)
    const done = await Promise.allSettled(
      Array.from({ length: 20 }, async (_, i) => {
        const client = kit.clientFor(key, kit.replicas[i % 2]!)
        const user_id = ids[(i >> 1) % 2]!
        if (round === 0 || (round === 2 && i % 3 === 0))
          return client.revokeRole({ body: { user_id, role: 'tenant_admin' }, query })
        return client.changeUser({ body: { operation: i % 3 === 1 ? 'suspend' : 'delete', user_id }, query })
      }),
    )
    const failures = done.filter((d) => d.status === 'rejected')
    assert.ok(failures.length >= 1)
    for (const { reason } of failures)
      assert.match(
        String(reason),
        /is the last active tenant_admin; grant that role to another user first|no such user/,
      )
    const left = await kit.admin.listGrants({ query: { ...query, role: 'tenant_admin' } })
    const users = await kit.admin.listUsers({ query: { ...query, status: 'active' } })
    const active = users.items.filter((u) => left.items.some((g) => g.user_id === u.user_id))
    assert.equal(active.length, 1, `round ${round}`)
  }
}

async function removeFormerLast(kit: Kit): Promise<void> {
  const { query, ids, key } = await twoAdmins(kit)
  const own = kit.clientFor(key)
  const [a, b] = ids as [string, string]
  await kit.admin.suspendUser({ body: { user_id: a }, query })
  const role = 'tenant_admin' as const
  const last = () => own.revokeRole({ body: { user_id: b, role } })
  await assert.rejects(last(), refused(422, /b is the last active tenant_admin/))
  assert.equal((await kit.admin.revokeRole({ body: { user_id: a, role }, query })).changed, true)
  await kit.admin.reactivateUser({ body: { user_id: a }, query })
  await assert.rejects(last(), refused(422))
  await kit.admin.grantRole({ body: { user_id: a, role }, query })
  assert.equal((await last()).changed, true)
}
