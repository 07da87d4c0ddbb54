import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rsaKey } from '../../src/modules/federation/saml/test-idp.ts'
import { openBrowser } from '../browser.ts'
import { whoIs } from '../federation.ts'
import { startKit } from '../kit.ts'
import { send } from '../raw-http.ts'
import { askPython, without } from './tools.ts'

const skip = without('python3-pysaml2') || without('xmlsec1')
const urn = (oid: string) => `urn:oid:${oid}`

test('people of pysaml2 sign in through the routes, in every way that it signs', { skip }, async (t) => {
  const kit = await startKit(t)
  const key = rsaKey()
  const idp = {
    issuer: 'https://idp.example/saml',
    sso_url: 'https://idp.example/sso',
    key: key.privateKey.export({ format: 'pem', type: 'pkcs8' }),
    certificate: key.pem,
    identity: { uid: 'zoe', displayName: 'Zoë <&>', mail: 'zoe@example.com', eduPersonAffiliation: ['staff'] },
  }
  const ask = (more: object) =>
    askPython<{ metadata: string; responses: Record<string, string> }>('python3-pysaml2', 'answer_saml.py', {
      ...idp,
      ...more,
    })
  const { metadata } = await ask({})
  const { group } = await kit.admin.changeGroup({ body: { operation: 'create', group: { name: 'staff' } } })
  const provider = await kit.admin.createIdentityProvider({
    body: {
      name: 'pysaml2',
      kind: 'saml',
      provisioning: 'create',
      claims: {
        username: urn('0.9.2342.19200300.100.1.1'),
        email: urn('0.9.2342.19200300.100.1.3'),
        display_name: urn('2.16.840.1.113730.3.1.241'),
        groups: urn('1.3.6.1.4.1.5923.1.1.1.1'),
      },
      group_mappings: [{ value: 'staff', group_id: group.group_id }],
      saml: { metadata_xml: metadata },
    },
  })
  const { sp_metadata_url, acs_url } = provider.saml!
  const path = (url: string) => new URL(url).pathname
  const ours = await send(kit.url, { path: path(sp_metadata_url) })

  const signIn = async (...ways: string[]) => {
    const browser = openBrowser(kit)
    const sent = await browser.get(`/admin/login/saml?provider=${provider.provider_id}`)
    const asked = new URL(String(sent.headers.location)).searchParams
    const { responses } = await ask({ sp_metadata: ours.text, request: asked.get('SAMLRequest') })
    const form = { RelayState: String(asked.get('RelayState')) }
    const statuses: number[] = []
    for (const way of ways) {
      const SAMLResponse = Buffer.from(String(responses[way])).toString('base64')
      statuses.push((await browser.post(path(acs_url), { ...form, SAMLResponse })).status)
    }
    return { browser, statuses }
  }
  const { browser, statuses } = await signIn('assertion', 'both')
  assert.deepEqual(statuses, [200, 401], 'of several responses to a request one counts')
  assert.equal(await whoIs(kit, browser.cookies.get('holdfast_session')), 'zoe')
  const [zoe] = (await kit.admin.listUsers({ query: { source: 'sso' } })).items
  assert.deepEqual([zoe?.display_name, zoe?.email, zoe?.group_ids], ['Zoë <&>', 'zoe@example.com', [group.group_id]])
  assert.deepEqual((await signIn('response')).statuses, [200])
  assert.deepEqual((await signIn('sha1')).statuses, [401])
  assert.deepEqual((await signIn('failure')).statuses, [401])
  const { items } = await kit.admin.listAuditEvents({ query: { kind: 'login.failed', limit: 2 } })
  assert.deepEqual(
    items.map((event) => 'failure_reason' in event && event.failure_reason),
    ['saml:denied', 'saml:algorithm'],
  )
})
