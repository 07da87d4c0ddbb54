import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rsaKey } from '../../src/modules/federation/saml/test-idp.ts'
import { openBrowser } from '../browser.ts'
import { whoIs } from '../federation.ts'
import { startKit } from '../kit.ts'
import { send } from '../raw-http.ts'
import { startSamlMachines } from './saml-machines.ts'
import { askPython, without } from './tools.ts'

const skip = without('python3-pysaml2') || without('xmlsec1')
const urn = (oid: string) => `urn:oid:${oid}`

test('people of pysaml2 sign in through the routes, in every way that it signs, and enroll a device of their own', {
  skip,
}, async (t) => {
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
      enrollment: true,
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

  /** What the browser brings back from the provider, by how it signs. */
  const answersTo = async (url: string, ...ways: string[]) => {
    const asked = new URL(url).searchParams
    const { responses } = await ask({ sp_metadata: ours.text, request: asked.get('SAMLRequest'), ways })
    return (way: string) => ({
      RelayState: String(asked.get('RelayState')),
      SAMLResponse: Buffer.from(String(responses[way])).toString('base64'),
    })
  }
  const signIn = async (...ways: string[]) => {
    const browser = openBrowser(kit)
    const sent = await browser.get(`/admin/login/saml?provider=${provider.provider_id}`)
    const formOf = await answersTo(String(sent.headers.location), ...ways)
    const statuses: number[] = []
    for (const way of ways) statuses.push((await browser.post(path(acs_url), formOf(way))).status)
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

  const { provider_id } = provider
  const begin = await startSamlMachines(kit, { provider_id, issuer: idp.issuer, acsUrl: acs_url })
  const [mine, thief] = [await begin(), await begin()]
  const formOf = await answersTo(mine.redirectUrl, 'assertion', 'both', 'nothing')
  const response = await mine.handOver(formOf('assertion'))
  await assert.rejects(thief.finish(response), { status: 401 }, 'it answers the request of another device')
  await assert.rejects(mine.finish(formOf('nothing').SAMLResponse), { status: 401 }, 'nobody signed it')
  const { user } = await mine.finish(response)
  assert.equal(user.username, 'zoe')
  await assert.rejects(mine.finish(formOf('both').SAMLResponse), { status: 401 }, 'one request, one device')
})
