import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract } from '@holdfast/contract'
import { type Role, roleNames, roles } from '@holdfast/contract/vocabulary'
import { changeIdentityProvider } from '@holdfast/sdk'
import { makeUser, signInAs } from '../support/actors/people.ts'
import { coversRole } from '../support/actors/role-escalation.ts'
import { openBrowser } from '../support/clients/browser.ts'
import type { Kit } from '../support/deployment/deployment.ts'
import { signedInAs } from '../support/providers/oidc-sign-in.ts'
import {
  anotherKey,
  changeSetting,
  idpOf,
  providersFor,
  type Schema,
  settingsOf,
  statusOfCall,
  writableSettings,
} from '../support/providers/provider-settings.ts'
import {
  metadataOf,
  type SamlDeployment,
  samlAnswerTo,
  startSaml,
  startSamlIdp,
} from '../support/providers/saml-idp.ts'

type Given = Parameters<typeof changeIdentityProvider>[2]

test('a change of a provider counts as a change of its users', async (t) => {
  const theirs = Object.assign(await startSamlIdp(t), { keys: [anotherKey] })
  const world = await startSaml(t, { settings: { provisioning: 'none' } })
  await t.test('a key set by a weaker administrator opens no session of a stronger person', () =>
    changeKeyAsWeaker(world, theirs),
  )
  await t.test('a concurrent link is seen by the change of its provider, or comes after it', () =>
    linkDuringChange(world),
  )
  await t.test('each provider setting is checked, narrows access, or is a name', () => eachSetting(world.kit))
  await t.test('each role is checked for each way to create or change a provider', () => eachRole(world))
})

const link = (kit: Kit, provider_id: string, user_id: string, subject: string) =>
  kit.admin.linkUserIdentity({ params: { user_id }, body: { provider_id, subject } })
async function changeKeyAsWeaker(world: SamlDeployment, theirs: Awaited<ReturnType<typeof startSamlIdp>>) {
  const { kit, clock, idp, provider, params, acs, away, signIn, reasons } = world
  const root = await makeUser(kit, 'root', ['platform_admin'])
  const weak = await makeUser(kit, 'weak', ['viewer'])
  await link(kit, provider.provider_id, root, 'root there')
  await link(kit, provider.provider_id, weak, 'weak there')
  const sessionOf = async (subject: string) =>
    String((await signIn({ subject })).browser.cookies.get('holdfast_session') ?? '')
  const [ofRoot, ofWeak] = [await sessionOf('root there'), await sessionOf('weak there')]
  assert.deepEqual([await signedInAs(kit, ofRoot), await signedInAs(kit, ofWeak)], ['root', 'weak'])
  /** Signs in with a response signed by their key. */
  const enter = async (subject: string) => {
    const browser = openBrowser(kit)
    const by = { entityId: idp.entityId, keys: theirs.keys }
    const answer = await browser.post(acs, samlAnswerTo(by, await away(browser), { subject, now: clock.now() }))
    return answer.status === 200 ? signedInAs(kit, browser.cookies.get('holdfast_session')) : answer.status
  }
  await makeUser(kit, 'guard', ['security_admin'])
  const guard = await signInAs(kit, 'guard')
  const made = await guard.post('/v1/admin/api-keys', { name: 'of guard', role: 'security_admin' })
  assert.equal(made.status, 403, 'a security administrator makes no keys')
  const security = await kit.as('security_admin')
  const metadata_xml = metadataOf(idp.entityId, idp.ssoUrl, [...idp.keys, ...theirs.keys])
  const withKey = { saml: { metadata_url: null, metadata_xml } }
  for (const given of [withKey, { saml: { metadata_url: theirs.url } }] as Given[]) {
    await assert.rejects(changeIdentityProvider(security, { params }, given), {
      status: 403,
      message:
        /1 of them have roles with permissions that you do not have \(platform_admin\).*end_links_of_stronger=true/,
    })
    const shown = await kit.admin.getIdentityProvider({ params })
    const json = { ...shown, saml: { ...shown.saml, ...given.saml } }
    const put = await guard.request({ method: 'PUT', path: `/v1/admin/settings/providers/${params.provider_id}`, json })
    assert.equal(put.status, 403, put.text)
    assert.deepEqual([await enter('root there'), await reasons()], [401, ['saml:signature']])
  }

  const cosmetic = await changeIdentityProvider(
    security,
    { params, query: { end_links_of_stronger: true } },
    { name: 'Renamed' },
  )
  assert.deepEqual(cosmetic.ended_links, { users: 0, links: 0, sessions: 0, user_ids: [] })
  const ending = { params, query: { end_links_of_stronger: true } }
  const changed = await changeIdentityProvider(security, ending, withKey)
  assert.deepEqual(changed.ended_links, { users: 1, links: 1, sessions: 1, user_ids: [root] })
  await kit.heard()
  assert.deepEqual([await signedInAs(kit, ofRoot), await signedInAs(kit, ofWeak)], [401, 'weak'])
  assert.deepEqual([await enter('root there'), await reasons()], [401, ['saml:not_linked']])
  assert.equal(await enter('weak there'), 'weak', 'a caller with all permissions of the person may set the sign-in')
  const [updated] = (await kit.admin.listAuditEvents({ query: { kind: 'identity_provider.updated', limit: 1 } })).items
  assert.deepEqual(updated?.details?.ended_links, changed.ended_links)
  const { items } = await kit.admin.listAuditEvents({ query: { kind: 'user.changed', limit: 1 } })
  assert.deepEqual(
    items.map((e) => [e.target?.id, 'operation' in e && e.operation, e.details]),
    [[root, 'unlink', { ...params, subject: 'root there' }]],
  )

  // A provider with the same entity id does not get the links of the former one, and neither does a new one.
  const saml = { idp: { entity_id: idp.entityId, sso_url: idp.ssoUrl, certificates: theirs.keys.map((k) => k.pem) } }
  await changeIdentityProvider(kit.admin, { params }, { saml: { metadata_url: null, ...saml } })
  await link(kit, provider.provider_id, root, 'root there')
  const again = await security.createIdentityProvider({ body: { name: 'Same', kind: 'saml', saml } })
  const browser = openBrowser(kit)
  const sent = await browser.get(`/admin/login/saml?provider=${again.provider_id}`)
  const form = samlAnswerTo(theirs, String(sent.headers.location), { subject: 'root there', now: clock.now() })
  const posted = await browser.post(new URL(String(again.saml?.acs_url)).pathname, form)
  assert.deepEqual([posted.status, await reasons()], [401, ['saml:not_linked']])
  assert.equal(await statusOfCall(security.testIdentityProvider({ params: { provider_id: again.provider_id } })), 200)
}

async function linkDuringChange({ kit, provider, params }: SamlDeployment) {
  const late = await makeUser(kit, 'late', ['platform_admin'])
  const { user_id: root } = (await kit.admin.listUsers({ query: { q: 'root' } })).items[0]!
  const unlink = (user_id: string, subject: string) =>
    kit.admin.unlinkUserIdentity({ params: { user_id }, body: { ...params, subject } })
  await unlink(root, 'root there')
  const security = await kit.as('security_admin')
  for (let round = 0; round < 4; round++) {
    const [linked, changed] = await Promise.all([
      link(kit, provider.provider_id, late, 'late there'),
      statusOfCall(
        changeIdentityProvider(security, { params }, { claims: { ...provider.claims, email: `m${round}` } }),
      ),
    ])
    assert.equal(linked.changed, true)
    const { items } = await kit.admin.listAuditEvents({ query: { limit: 4 } })
    const place = (kind: string) => items.findIndex((e) => e.kind === kind)
    if (changed === 200)
      assert.ok(place('user.changed') < place('identity_provider.updated'), 'newest first: the link came after it')
    else assert.equal(changed, 403)
    await unlink(late, 'late there')
  }
}

async function eachSetting(kit: Kit) {
  const { group } = await kit.admin.changeGroup({ body: { operation: 'create', group: { name: 'staff' } } })
  const settings = settingsOf(group.group_id)
  assert.deepEqual(
    writableSettings(contract.updateIdentityProvider.body as Schema).sort(),
    Object.keys(settings).sort(),
  )
  const of = await providersFor(kit, 'Stronger')
  const chief = await makeUser(kit, 'chief', ['platform_admin'])
  for (const id of Object.values(of)) await link(kit, id, chief, 'chief').catch(() => undefined)
  assert.equal((await kit.admin.getIdentityProvider({ params: { provider_id: of.oidc } })).linked_users, 1)
  const tenantAdmin = await kit.as('tenant_admin')
  const wrong: string[] = []
  for (const [path, { kind, values, to, back }] of Object.entries(settings)) {
    assert.equal(await changeSetting(kit.admin, of[kind], path, values[0]), 200, `${path} is prepared`)
    for (const [expected, value] of [
      [to, values[1]],
      [back, values[0]],
    ] as const) {
      const got = await changeSetting(tenantAdmin, of[kind], path, value)
      if (got !== (expected === 'free' ? 200 : 403)) wrong.push(`${path} to ${JSON.stringify(value)}: ${got}`)
      // A refusal has only this one reason, and a mapping needs no permission for later settings.
      if (got === 403) assert.equal(await changeSetting(kit.admin, of[kind], path, value), 200, path)
    }
  }
  assert.deepEqual(wrong, [])
}

async function eachRole({ kit }: SamlDeployment) {
  const { group } = await kit.admin.changeGroup({ body: { operation: 'create', group: { name: 'others' } } })
  const ways = Object.entries(settingsOf(group.group_id)).filter(
    ([, { to, kind }]) => to === 'judged' && kind === 'saml',
  )
  const has = (role: Role, permission: string) => (roles[role] as readonly string[]).includes(permission)
  const makers = await Promise.all(
    roleNames.filter((own) => has(own, 'settings:write')).map(async (own) => ({ own, client: await kit.as(own) })),
  )
  const needs: Record<string, string> = {
    provisioning: 'users:write',
    group_mappings: 'groups:write',
    role_mappings: 'rbac:write',
  }
  const wrong: string[] = []
  let turn = 0
  for (const target of roleNames) {
    const { saml: provider_id } = await providersFor(kit, target)
    await link(kit, provider_id, await makeUser(kit, `linked-${target}`, [target]), 'there')
    for (const { own, client } of makers) {
      const [path, { values }] = ways[turn++ % ways.length]!
      assert.equal(await changeSetting(kit.admin, provider_id, path, values[0]), 200, path)
      const got = await changeSetting(client, provider_id, path, values[1])
      const may = coversRole(own, target) && has(own, needs[path] ?? 'settings:write')
      if (got !== (may ? 200 : 403)) wrong.push(`${own} sets ${path} of ${target}: ${got}`)
      if (got === 200) await changeSetting(kit.admin, provider_id, path, values[0])
    }
  }

  // A caller who decides which provider creates users could create them directly.
  const making = { group_mappings: [], role_mappings: [], provisioning: 'create' as const }
  const { saml: maker } = await providersFor(kit, 'makes users')
  await changeIdentityProvider(kit.admin, { params: { provider_id: maker } }, making)
  const others = ways.filter(([path]) => path !== 'provisioning' && !path.endsWith('_mappings'))
  // A caller who may create users may change each setting; one of them is tried.
  for (const { own, client } of makers)
    for (const [path, { values }] of others.slice(0, has(own, 'users:write') ? 1 : others.length)) {
      assert.equal(await changeSetting(kit.admin, maker, path, values[0]), 200, path)
      const got = await changeSetting(client, maker, path, values[1])
      if (got !== (has(own, 'users:write') ? 200 : 403))
        wrong.push(`${own} sets ${path} of one that makes users: ${got}`)
    }
  assert.deepEqual(wrong, [])

  // Directory pulls change users whom a `tenant_admin` may change. A role with less may neither configure nor start
  // them.
  for (const permission of ['directory:write', 'directory:sync'])
    for (const role of roleNames.filter((r) => has(r, permission)))
      assert.ok(coversRole(role, 'tenant_admin'), `${role} has ${permission}`)

  // Which operations there are; a new one has to be thought of here.
  const writes = Object.entries(contract).filter(
    ([, e]) =>
      e.method !== 'GET' && (e.path.startsWith('/v1/admin/settings/providers') || e.path.includes('/identities')),
  )
  assert.deepEqual(writes.map(([name]) => name).sort(), [
    'createIdentityProvider',
    'deleteIdentityProvider',
    'linkUserIdentity',
    'testIdentityProvider',
    'unlinkUserIdentity',
    'updateIdentityProvider',
  ])
  const mapping: Record<string, object> = {
    'users:write': { provisioning: 'create' },
    'groups:write': { group_mappings: [{ value: 'x', group_id: group.group_id }] },
    'rbac:write': { role_mappings: [{ value: 'x', role: 'viewer' }] },
  }
  for (const { own, client } of makers) {
    const create = (more: object) => {
      const body = { name: `new ${turn++}`, kind: 'saml' as const, saml: { idp: idpOf(anotherKey.pem) }, ...more }
      return statusOfCall(client.createIdentityProvider({ body }))
    }
    assert.equal(await create({}), 200)
    for (const [permission, more] of Object.entries(mapping))
      assert.equal(await create(more), has(own, permission) ? 200 : 403, `${own} makes one that needs ${permission}`)
    const chief = (await kit.admin.listUsers({ query: { q: 'chief' } })).items[0]!
    const linked = client.linkUserIdentity({
      params: { user_id: chief.user_id },
      body: { provider_id: (await kit.admin.listIdentityProviders()).items[0]!.provider_id, subject: own },
    })
    assert.equal(await statusOfCall(linked), own === 'platform_admin' ? 200 : 403)
  }
}
