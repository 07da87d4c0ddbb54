import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract } from '@holdfast/contract'
import { makeUser } from '../support/actors/people.ts'
import { clientSecret, startFederated } from '../support/providers/oidc-sign-in.ts'

const people = { anna: { name: 'anna' } }

test('nobody maps a role that allows more than they may do; a secret is not shown, nor sent to another issuer', async (t) => {
  const { kit, provider, params } = await startFederated(t, { people })
  const security = await kit.as('security_admin')
  const tenantAdmin = await kit.as('tenant_admin')
  const shown = await security.getIdentityProvider({ params })
  const mapping = (role: 'viewer' | 'platform_admin') => ({
    params,
    body: { ...shown, role_mappings: [{ value: 'x', role }] },
  })
  await assert.rejects(security.updateIdentityProvider(mapping('viewer')), { status: 403 })
  await assert.rejects(tenantAdmin.updateIdentityProvider(mapping('platform_admin')), { status: 403 })
  const mapped = await tenantAdmin.updateIdentityProvider(mapping('viewer'))
  // A change of the provider that assigns roles needs the same permission as the roles.
  const elsewhere = { ...mapped, enabled: false, oidc: { ...mapped.oidc!, issuer: 'https://192.0.2.2' } }
  for (const change of [elsewhere, { ...mapped, claims: { ...mapped.claims, groups: 'mine' } }])
    await assert.rejects(security.updateIdentityProvider({ params, body: change }), { status: 403 })
  await security.updateIdentityProvider({ params, body: mapped })
  const helpdesk = await kit.as('helpdesk')
  const strong = await makeUser(kit, 'strong', ['tenant_admin'])
  const body = { provider_id: provider.provider_id, subject: 'mine' }
  await assert.rejects(helpdesk.linkUserIdentity({ params: { user_id: strong }, body }), { status: 403 })

  const said = JSON.stringify([
    shown,
    await kit.admin.listIdentityProviders(),
    await kit.admin.listAuditEvents({ query: { limit: 200 } }),
    kit.logs,
  ])
  assert.ok(!said.includes(clientSecret))
  assert.equal(shown.oidc?.client_secret_set, true)

  const moved = async (secret: { client_secret?: string | null }) => {
    const { oidc, ...rest } = await kit.admin.getIdentityProvider({ params })
    const issuer = `${oidc!.issuer.replace(/\/$/, '')}/elsewhere`
    const body = { ...rest, enabled: false, oidc: { ...oidc!, issuer, ...secret } }
    return (await kit.admin.updateIdentityProvider({ params, body })).oidc?.client_secret_set
  }
  await assert.rejects(moved({}), { status: 422, message: /client_secret/ })
  assert.equal(await moved({ client_secret: 'of the other one' }), true)
  assert.equal(await moved({ client_secret: null }), false)
  assert.equal(await moved({}), false)
})

test('every field that is set can be changed alone, and the record says which', async (t) => {
  const { kit, params } = await startFederated(t, { people })
  const { group } = await kit.admin.changeGroup({ body: { operation: 'create', group: { name: 'staff' } } })
  const { oidc, saml, ...before } = await kit.admin.getIdentityProvider({ params })
  const others = {
    name: 'Another',
    sign_in: false,
    enrollment: true,
    requires_approval: true,
    max_devices_per_user: 3,
    provisioning: 'create' as const,
    claims: { ...before.claims, groups: 'roles' },
    group_mappings: [{ value: 'x', group_id: group.group_id }],
    role_mappings: [{ value: 'x', role: 'viewer' as const }],
  }
  const settable = Object.keys(contract.updateIdentityProvider.body.properties).filter(
    (name) => !('readOnly' in Object(contract.updateIdentityProvider.body.properties)[name]),
  )
  assert.equal(saml, null)
  assert.deepEqual([...Object.keys(others), 'enabled', 'oidc', 'saml'].sort(), settable.sort())
  for (const [field, value] of Object.entries({
    ...others,
    oidc: { ...oidc!, client_id: 'another' },
    enabled: false,
  })) {
    const shown = await kit.admin.getIdentityProvider({ params })
    await kit.admin.updateIdentityProvider({ params, body: { ...shown, [field]: value } })
    assert.deepEqual(new Map(Object.entries(await kit.admin.getIdentityProvider({ params }))).get(field), value, field)
    const [event] = (await kit.admin.listAuditEvents({ query: { kind: 'identity_provider.updated', limit: 1 } })).items
    assert.deepEqual(Object.keys(event?.changes ?? {}), [field])
  }
})
