import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBrowser } from '../support/clients/browser.ts'
import { send } from '../support/clients/raw-http.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { whoIs } from '../support/providers/oidc-sign-in.ts'
import { rsaKey } from '../support/providers/saml-responses.ts'
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
    askPython<{ metadata: string; answers: { responses: Record<string, string> }[] }>(
      'python3-pysaml2',
      'answer_saml.py',
      { ...idp, ...more },
    )
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
  const { provider_id } = provider
  const { sp_metadata_url, acs_url } = provider.saml!
  const path = (url: string) => new URL(url).pathname
  const ours = await send(kit.url, { path: path(sp_metadata_url) })

  // All sign-ins begin before the provider answers: it is a program that takes a second to start.
  const away = async () => {
    const browser = openBrowser(kit)
    const sent = await browser.get(`/admin/login/saml?provider=${provider_id}`)
    return { browser, redirectUrl: String(sent.headers.location) }
  }
  const [zoe, again, weak, refused] = [await away(), await away(), await away(), await away()]
  const begin = await startSamlMachines(kit, { provider_id, issuer: idp.issuer, acsUrl: acs_url })
  const [mine, thief] = [await begin(), await begin()]
  const wanted = [
    { of: zoe, ways: ['assertion', 'both'] },
    { of: again, ways: ['response'] },
    { of: weak, ways: ['sha1'] },
    { of: refused, ways: ['failure'] },
    { of: mine, ways: ['assertion', 'both', 'nothing'] },
  ]
  const asked = wanted.map(({ of, ways }) => ({ ...of, ways, query: new URL(of.redirectUrl).searchParams }))
  const requests = asked.map(({ query, ways }) => ({ request: query.get('SAMLRequest'), ways }))
  const { answers } = await ask({ sp_metadata: ours.text, requests })
  /** The form that a browser posts back, for each way in which the provider signs. */
  const formOf = ({ redirectUrl }: { redirectUrl: string }, way: string) => {
    const n = asked.findIndex((one) => one.redirectUrl === redirectUrl)
    const SAMLResponse = Buffer.from(String(answers[n]?.responses[way])).toString('base64')
    return { RelayState: String(asked[n]?.query.get('RelayState')), SAMLResponse }
  }
  const signIn = async (of: typeof zoe, way: string) => (await of.browser.post(path(acs_url), formOf(of, way))).status

  assert.equal(await signIn(zoe, 'assertion'), 200)
  assert.equal(await signIn(zoe, 'both'), 401, 'of several responses to a request one counts')
  assert.equal(await whoIs(kit, zoe.browser.cookies.get('holdfast_session')), 'zoe')
  const [made] = (await kit.admin.listUsers({ query: { source: 'sso' } })).items
  assert.deepEqual([made?.display_name, made?.email, made?.group_ids], ['Zoë <&>', 'zoe@example.com', [group.group_id]])
  assert.equal(await signIn(again, 'response'), 200)
  assert.equal(await signIn(weak, 'sha1'), 401)
  assert.equal(await signIn(refused, 'failure'), 401)
  const { items } = await kit.admin.listAuditEvents({ query: { kind: 'login.failed', limit: 2 } })
  assert.deepEqual(
    items.map((event) => 'failure_reason' in event && event.failure_reason),
    ['saml:denied', 'saml:algorithm'],
  )

  const response = await mine.handOver(formOf(mine, 'assertion'))
  await assert.rejects(thief.finish(response), { status: 401 }, 'it answers the request of another device')
  await assert.rejects(mine.finish(formOf(mine, 'nothing').SAMLResponse), { status: 401 }, 'nobody signed it')
  const { user } = await mine.finish(response)
  assert.equal(user.username, 'zoe')
  await assert.rejects(mine.finish(formOf(mine, 'both').SAMLResponse), { status: 401 }, 'one request, one device')
})
