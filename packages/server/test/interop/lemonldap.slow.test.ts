import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { changeIdentityProvider } from '@holdfast/sdk'
import { openBrowser } from '../support/clients/browser.ts'
import { send } from '../support/clients/raw-http.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { opened } from '../support/domain/notifications.ts'
import { whoIs } from '../support/providers/oidc-sign-in.ts'
import { prepareLemonldap } from './lemonldap.ts'
import { openProviderBrowser } from './person.ts'
import { startSamlMachines } from './saml-machines.ts'
import { without } from './tools.ts'

const skip = without('lemonldap-ng')

test('people of LemonLDAP::NG sign in by SAML, and enroll devices of their own', {
  skip,
  timeout: 300_000,
}, async (t) => {
  const lemonldap = await prepareLemonldap(t)
  const kit = await startKit(t, { config: opened })
  const { group } = await kit.admin.changeGroup({ body: { operation: 'create', group: { name: 'lords' } } })
  const made = await kit.admin.createIdentityProvider({
    body: {
      name: 'LemonLDAP::NG',
      kind: 'saml',
      enabled: false,
      enrollment: true,
      provisioning: 'create',
      group_mappings: [{ value: 'timelords', group_id: group.group_id }],
      saml: { metadata_url: lemonldap.metadataUrl },
    },
  })
  const { sp_metadata_url, acs_url: acsUrl } = made.saml!
  const path = (url: string) => new URL(url).pathname
  await lemonldap.startFor((await send(kit.url, { path: path(sp_metadata_url) })).text)
  const { provider_id } = made
  const params = { provider_id }
  const { saml } = await changeIdentityProvider(kit.admin, { params }, { enabled: true })
  const issuer = String(saml?.found?.entity_id)

  const away = async (person: string, password = person, visit = openProviderBrowser()) => {
    const browser = openBrowser(kit)
    const sent = await browser.get(`/admin/login/saml?provider=${provider_id}`)
    assert.equal(sent.status, 303, sent.text)
    const { at, form, text } = await visit(String(sent.headers.location), { user: person, password })
    return { browser, at, text, form: form ?? {}, bring: (edit = form) => browser.post(path(acsUrl), edit ?? {}) }
  }
  const signIn = async (...who: Parameters<typeof away>) => {
    const { browser, at, text, bring } = await away(...who)
    assert.equal(at.href, acsUrl, text)
    const { status } = await bring()
    return { status, who: await whoIs(kit, browser.cookies.get('holdfast_session')), bring }
  }
  const reason = async () => {
    const [event] = (await kit.admin.listAuditEvents({ query: { kind: 'login.failed', limit: 1 } })).items
    return event && 'failure_reason' in event && event.failure_reason
  }

  const visit = openProviderBrowser()
  const first = await signIn('dwho', 'dwho', visit)
  assert.deepEqual([first.status, first.who], [200, 'dwho'])
  assert.equal((await first.bring()).status, 401, 'one response, one session')
  assert.equal((await signIn('nobody', '', visit)).who, 'dwho', 'who has signed in there is asked nothing')
  assert.equal((await signIn('rtyler')).who, 'rtyler')
  const { items } = await kit.admin.listUsers({ query: { source: 'sso', sort: 'username' } })
  assert.deepEqual(
    items.map((user) => [user.username, user.display_name, user.email, user.group_ids]),
    [
      ['dwho', 'Doctor Who', 'dwho@badwolf.org', [group.group_id]],
      ['rtyler', 'Rose Tyler', 'rtyler@badwolf.org', []],
    ],
  )
  assert.equal((await away('dwho', 'wrong')).at.origin, lemonldap.url, 'it keeps who has another password')
  const forger = await away('rtyler')
  const xml = Buffer.from(String(forger.form.SAMLResponse), 'base64').toString()
  const SAMLResponse = Buffer.from(xml.replaceAll('>rtyler<', '>dwho<')).toString('base64')
  assert.notEqual(SAMLResponse, forger.form.SAMLResponse)
  assert.equal((await forger.bring({ ...forger.form, SAMLResponse })).status, 401)
  assert.equal(await reason(), 'saml:signature')

  const begin = await startSamlMachines(kit, { provider_id, issuer, acsUrl })
  const [mine, thief] = [await begin(), await begin()]
  const { at, form } = await openProviderBrowser()(mine.redirectUrl, { user: 'msmith', password: 'msmith' })
  assert.equal(at.href, acsUrl)
  const response = await mine.handOver(form ?? {})
  await assert.rejects(thief.finish(response), { status: 401 }, 'it answers the request of another device')
  const { user, shown } = await mine.finish(response)
  assert.deepEqual([user.username, user.last_login_at, shown.name], ['msmith', null, 'laptop'])
  await assert.rejects(mine.finish(response), { status: 401 }, 'one response, one device')

  // A signature by a key that was not in the metadata when it was read is not accepted.
  await lemonldap.changeKey()
  while ((await signIn('dwho')).status === 200) await delay(500)
  assert.equal(await reason(), 'saml:signature')
  assert.equal((await kit.admin.testIdentityProvider({ params })).ok, true)
  assert.equal((await signIn('dwho')).who, 'dwho')
})
