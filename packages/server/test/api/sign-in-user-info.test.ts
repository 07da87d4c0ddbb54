import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBrowser } from '../support/clients/browser.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { opened } from '../support/domain/notifications.ts'
import { startHostileProvider } from '../support/providers/hostile-oidc-provider.ts'

test('a provider whose ID token has no profile is asked for it, and refuses whom it can not be asked about', async (t) => {
  const kit = await startKit(t, { config: opened })
  const reasons = async (limit: number) =>
    (await kit.admin.listAuditEvents({ query: { kind: 'login.failed', limit } })).items.map(
      (event) => 'failure_reason' in event && event.failure_reason,
    )

  const idp = await startHostileProvider(kit)
  idp.changed.userinfo_endpoint = `${idp.issuer}/userinfo`
  const says = (status: number, body: unknown) =>
    idp.answers.set('/userinfo', (_, response) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
    )
  const { group } = await kit.admin.changeGroup({ body: { operation: 'create', group: { name: 'engineers' } } })
  const oidc = { issuer: idp.issuer, client_id: 'holdfast' }
  const group_mappings = [{ value: '/eng', group_id: group.group_id }]
  const role_mappings = [{ value: '/eng', role: 'auditor' as const }]
  const made = await kit.admin.createIdentityProvider({
    body: { name: 'Thin', kind: 'oidc', provisioning: 'create', group_mappings, role_mappings, oidc },
  })
  const { pathname } = new URL(String(made.oidc?.redirect_uri))
  const come = async () => {
    const browser = openBrowser(kit)
    const sent = await browser.get(`/admin/login/oidc?provider=${made.provider_id}`)
    const brought = await idp.answerTo(String(sent.headers.location))
    return (await browser.get(`${pathname}?${brought}`)).status
  }
  const jo = { sub: 'someone', preferred_username: 'jo', email: 'jo@example.com', name: 'Jo Doe' }
  const shown = async () => {
    const [user] = (await kit.admin.listUsers({ query: { q: 'jo', source: 'sso' } })).items
    return user && [user.username, user.display_name, user.email, user.roles, user.group_ids]
  }
  const member = ['jo', 'Jo Doe', 'jo@example.com', ['auditor'], [group.group_id]]
  says(200, { ...jo, sub: 'somebody else', groups: ['/eng'] })
  assert.deepEqual([await come(), await reasons(1), await shown()], [401, ['oidc:subject'], undefined])
  says(200, { ...jo, groups: ['/eng'] })
  assert.deepEqual([await come(), await shown()], [200, member])
  says(503, {})
  assert.deepEqual([await come(), await reasons(1), await shown()], [401, ['oidc:userinfo'], member])
  says(200, { sub: 'someone', groups: ['/eng'] })
  assert.deepEqual([await come(), await shown()], [200, member], 'the profile of somebody known is not needed')
  says(200, jo)
  assert.deepEqual([await come(), (await shown())?.slice(3)], [200, [[], []]], 'the provider says that there are none')
})
