import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReturnReason } from '../../src/modules/federation/sign-in/refused-returns.ts'
import { makeUser, trySignIn } from '../support/actors/people.ts'
import { openBrowser } from '../support/clients/browser.ts'
import { send } from '../support/clients/raw-http.ts'
import { times } from '../support/deployment/deployment.ts'
import { signedInAs } from '../support/providers/oidc-sign-in.ts'
import { answerBothRequests, requestIn, type SamlDeployment, startSaml } from '../support/providers/saml-idp.ts'
import { rsaKey, signed } from '../support/providers/saml-responses.ts'

test('sign-in by SAML', async (t) => {
  const world = await startSaml(t, { replicas: 2 })
  await t.test('a person with a linked account signs in, and the event says by which provider', () =>
    signInLinkedUser(world),
  )
  await t.test('of twenty concurrent posts of one response on two replicas, one starts a session', () =>
    postConcurrently(world),
  )
  await t.test('every invalid response gets the same page, and only the audit event has the reason', () =>
    refuseInvalidResponses(world),
  )
  await t.test('attributes of Entra ID create a user in the named groups, and an overage of groups is refused', () =>
    createByAttributes(world),
  )
})

async function signInLinkedUser({ kit, provider, params, set, signIn, acs }: SamlDeployment) {
  await set({ provisioning: 'none' })
  const user_id = await makeUser(kit, 'somebody', ['auditor'])
  await kit.admin.linkUserIdentity({
    params: { user_id },
    body: { provider_id: provider.provider_id, subject: 'linked' },
  })

  const page = await openBrowser(kit).get('/admin/login?next=/admin/x')
  assert.match(
    page.text,
    /<a class="choice" href="\/admin\/login\/saml\?provider=idp_\w+&amp;next=%2Fadmin%2Fx">Login</,
  )
  const sent = await openBrowser(kit).get(`/admin/login/saml?provider=${provider.provider_id}&next=//evil.example`)
  // The provider's page posts the answer from another site: Lax and Strict cookies would stay at home.
  assert.match(
    String(sent.headers['set-cookie']),
    /^holdfast_saml=hfl_\w+; Path=\/; HttpOnly; Secure; SameSite=None; Max-Age=600$/,
  )
  const asked = requestIn(String(sent.headers.location))
  assert.match(asked.relayState, /^hfr_\w{76}$/, 'at most the 80 bytes that RelayState may have')
  assert.deepEqual(
    [asked.acsUrl, asked.acsUrl, asked.entityId],
    [kit.publicUrl + acs, provider.saml?.acs_url, provider.saml?.sp_entity_id],
  )

  const { browser, answer } = await signIn({ subject: 'linked' }, '&next=%2Fadmin%3Fa%3D1')
  assert.deepEqual([answer.status, answer.headers.refresh], [200, '0; url=/admin?a=1'], answer.text)
  assert.match(
    answer.headers['set-cookie']?.[0] ?? '',
    /^holdfast_session=hfs_\w+; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
  )
  assert.equal(await signedInAs(kit, browser.cookies.get('holdfast_session')), 'somebody')
  const [event] = (await kit.admin.listAuditEvents({ query: { kind: 'login.succeeded', limit: 1 } })).items
  assert.ok(event && 'auth_method' in event && 'user_id' in event)
  assert.deepEqual([event.auth_method, event.user_id], ['saml', user_id])
  assert.equal((await kit.admin.getIdentityProvider({ params })).linked_users, 1)

  const metadata = await send(kit.url, { path: new URL(String(provider.saml?.sp_metadata_url)).pathname })
  assert.deepEqual(
    [metadata.status, metadata.headers['content-type']],
    [200, 'application/samlmetadata+xml; charset=utf-8'],
  )
  for (const said of [
    `entityID="${provider.saml?.sp_entity_id}"`,
    'validUntil="',
    'cacheDuration="P1D"',
    `HTTP-POST" Location="${provider.saml?.acs_url}"`,
    'AuthnRequestsSigned="false"',
    'nameid-format:persistent',
  ])
    assert.ok(metadata.text.includes(said), said)
  for (const path of ['idp_nothing', `${provider.provider_id}?tenant=other`])
    assert.equal((await send(kit.url, { path: `/admin/login/saml/metadata/${path}` })).status, 404)
  await set({ provisioning: 'create' })
  await kit.heard()
}

async function postConcurrently({ kit, acs, away, answer }: SamlDeployment) {
  const browser = openBrowser(kit)
  const form = answer(await away(browser))
  const answers = await times(20, (i) => browser.post(acs, form, kit.replicas[i % 2]))
  assert.deepEqual(answers.map((a) => a.status).sort(), [200, ...Array.from({ length: 19 }, () => 401)])
  browser.cookies.delete('holdfast_session')
  for (const replica of kit.replicas) assert.equal((await browser.post(acs, form, replica)).status, 401)

  // An assertion that answers two requests is accepted once.
  const [one, two] = [openBrowser(kit), openBrowser(kit)]
  const urls = [await away(one), await away(two, '', kit.replicas[1])]
  const [a = '', b = ''] = urls.map((url) => requestIn(url).id)
  const id = 'twice'
  const first = await one.post(acs, answer(urls[0]!, { id }, answerBothRequests(a, b)))
  const again = await two.post(acs, answer(urls[1]!, { id }, answerBothRequests(b, a)), kit.replicas[1])
  assert.deepEqual([first.status, again.status], [200, 401])
  const [event] = (await kit.admin.listAuditEvents({ query: { kind: 'login.failed', limit: 1 } })).items
  assert.equal(event && 'failure_reason' in event && event.failure_reason, 'saml:replayed')
  assert.equal((await kit.admin.listUsers({ query: { source: 'sso' } })).items.length, 1)
}

const group = 'http://schemas.microsoft.com/ws/2008/06/identity/claims/groups'
const entra = {
  'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/name': 'Anna@example.com',
  'http://schemas.microsoft.com/identity/claims/displayname': 'Anna',
}

async function createByAttributes({ kit, idp, set, signIn, reasons }: SamlDeployment) {
  const made = await kit.admin.createIdentityProvider({
    body: { name: 'Entra', kind: 'saml', saml: { metadata_url: idp.url, preset: 'entra_id' } },
  })
  const { group: staff } = await kit.admin.changeGroup({ body: { operation: 'create', group: { name: 'staff' } } })
  await set({
    claims: made.claims,
    group_mappings: [{ value: 'g1', group_id: staff.group_id }],
    role_mappings: [{ value: 'g2', role: 'viewer' }],
  })
  const { answer } = await signIn({ subject: 'entra', attributes: { ...entra, [group]: ['g1', 'g2'] } })
  assert.equal(answer.status, 200, answer.text)
  const found = async () =>
    (await kit.admin.listUsers({ query: { source: 'sso' } })).items.find((u) => u.username === 'anna@example.com')
  const user = await found()
  assert.deepEqual([user?.display_name, user?.group_ids, user?.roles], ['Anna', [staff.group_id], ['viewer']])
  const link = {
    'http://schemas.microsoft.com/claims/groups.link': 'https://graph.windows.net/x/users/y/getMemberObjects',
  }
  const beyond = await signIn({ subject: 'entra', attributes: { ...entra, ...link } })
  assert.deepEqual([beyond.answer.status, await reasons()], [401, ['saml:groups']])
  assert.deepEqual((await found())?.group_ids, [staff.group_id], 'nothing was taken away either')
  assert.equal((await trySignIn(kit, 'anna@example.com')).status, 401, 'no password opens it')

  const other = await signIn({ subject: 'other', attributes: entra })
  assert.deepEqual([other.answer.status, await reasons()], [401, ['saml:username_taken']])
}

const whole = (xml: string) => /<saml:Assertion .*<\/saml:Assertion>/.exec(xml)?.[0] ?? assert.fail(xml)
const notSigned = (xml: string) => xml
/** Puts a forged assertion where it is read, and the signed one where only its signature is checked. */
function wrapped(key: Parameters<typeof signed>[2]) {
  return (xml: string) => {
    const good = whole(signed(xml, 'Assertion', key))
    const forged = whole(xml)
      .replace(/ID="[^"]*"/, 'ID="_forged"')
      .replace('>anna<', '>admin<')
    return xml.replace(
      whole(xml),
      forged.replace('</saml:Issuer>', `</saml:Issuer><samlp:Extensions>${good}</samlp:Extensions>`),
    )
  }
}

async function refuseInvalidResponses({ kit, idp, acs, away, answer, clock, reasons }: SamlDeployment) {
  assert.match(acs, /^\/admin\/login\/saml\/acs\/idp-\w+$/)
  const stranger = rsaKey()
  const was = (from: string | RegExp, to: string) => (xml: string) => {
    assert.notEqual(xml.replace(from, to), xml, String(from))
    return xml.replace(from, to)
  }
  const at = (seconds: number) => new Date(clock.now().getTime() + seconds * 1000)
  const algorithm = 'http://www.w3.org/2000/09/xmldsig#rsa-sha1'
  const usual = (xml: string) => signed(xml, 'Assertion')
  // Each reason once or twice: every way to it is refused in modules/federation/saml.
  type Edit = ((xml: string) => string) | undefined
  type Attack = [reason: string, change?: Edit, sign?: Edit, said?: { now: Date }]
  const attacks: Record<string, Attack> = {
    'an unsigned response': ['signature', undefined, notSigned],
    'a stranger signed it and shows our key': [
      'signature',
      undefined,
      (xml) => signed(xml, 'Assertion', { key: stranger, keyInfo: idp.keys[0]!.pem }),
    ],
    'a forged assertion around a signed one': ['token', undefined, wrapped({})],
    'a name changed after it was signed': ['signature', undefined, (xml) => usual(xml).replace('>anna<', '>admin<')],
    'signed with SHA-1': ['algorithm', undefined, (xml) => signed(xml, 'Assertion', { algorithm })],
    'an encrypted assertion': [
      'encrypted',
      was(/<saml:Assertion .*<\/saml:Assertion>/, '<saml:EncryptedAssertion/>'),
      notSigned,
    ],
    'for another address': ['destination', was(/Recipient="[^"]*"/, 'Recipient="https://evil.example/"')],
    'for another application': ['audience', was(/<saml:Audience>[^<]*/, '<saml:Audience>https://other.example')],
    'of another provider': ['issuer', (xml) => xml.replaceAll(idp.entityId, 'https://other.example')],
    'to another request': ['state', (xml) => xml.replace(/InResponseTo="[^"]*"/g, 'InResponseTo="_other"')],
    'that the provider refuses': ['denied', was('status:Success', 'status:Responder')],
    'of ten minutes ago': ['time', undefined, undefined, { now: at(-600) }],
    'with a name for one session': ['subject', was('nameid-format:persistent', 'nameid-format:transient')],
  }
  const pages = new Set<string>()
  const refused = async (what: string, form: Record<string, string>, browser = openBrowser(kit), path = acs) => {
    const got = await browser.post(path, form)
    assert.equal(got.status, 401, `${what}: ${got.text}`)
    assert.equal(got.headers.location, undefined)
    assert.equal(browser.cookies.has('holdfast_session'), false, what)
    pages.add(got.text)
  }
  for (const [what, [reason, change, sign, said = {}]] of Object.entries(attacks)) {
    const browser = openBrowser(kit)
    await refused(what, answer(await away(browser), said, change, sign), browser)
    assert.deepEqual(await reasons(), [`saml:${reason}`], what)
  }
  for (const [what, SAMLResponse] of [
    ['no base64', '%%%'],
    ['nothing', ''],
    ['a deflated one, as by redirect', 'fZJNT8MwDIb/'],
  ] as const) {
    const browser = openBrowser(kit)
    await refused(what, { ...answer(await away(browser)), SAMLResponse }, browser)
    assert.deepEqual(await reasons(), ['saml:token'], what)
  }
  /** Refused; the reason is in the audit log, and not in the answer. */
  const ends = async (reason: ReturnReason | 'state', ...given: Parameters<typeof refused>) => {
    await refused(...given)
    assert.deepEqual(await reasons(), [`saml:${reason}`], given[0])
    seen.add(reason)
  }
  const seen = new Set<string>()

  const browser = openBrowser(kit)
  const form = answer(await away(browser))
  const other = openBrowser(kit)
  const elsewhere = await away(other)
  const second = await kit.admin.createIdentityProvider({
    body: { name: 'Second', kind: 'saml', saml: { metadata_url: idp.url } },
  })
  const ofSecond = new URL(String(second.saml?.acs_url)).pathname
  await ends('other_browser', 'another browser', form, other)
  await ends('no_cookie', 'a browser without a cookie', form)
  const { relayState: RelayState } = requestIn(elsewhere)
  await ends('state', 'a response to the request of another browser', { ...form, RelayState }, other)
  await ends('no_state', 'no RelayState', { SAMLResponse: form.SAMLResponse }, browser)
  await ends('unknown_state', 'a RelayState that leads away', { ...form, RelayState: 'https://evil.example/' }, browser)
  await ends('no_response', 'no response', { RelayState: form.RelayState }, browser)
  await ends('other_provider', 'the address of another provider', form, browser, ofSecond)
  await ends('unknown_provider', 'the address of no provider', form, browser, '/admin/login/saml/acs/idp_nothing')
  assert.equal((await browser.get(acs)).status, 401, 'by redirect nothing is answered')
  const large = await browser.post(acs, { ...form, SAMLResponse: 'A'.repeat(256 * 1024) })
  assert.deepEqual([large.status, /The body is larger than this route accepts/.test(large.text)], [400, true])
  const asJson = await send(kit.url, { method: 'POST', path: acs, json: form })
  assert.equal(asJson.status, 400)

  assert.equal((await browser.post(acs, form)).status, 200, 'and the one that was meant still counts')
  browser.cookies.delete('holdfast_session')
  await refused('the same once more', form, browser)
  assert.ok((await reasons(200)).includes('saml:request_spent'), 'counted with others of this minute')
  const late = openBrowser(kit)
  const tooLate = await away(late)
  clock.advance(11 * 60)
  await ends('request_expired', 'an answer after eleven minutes', answer(tooLate), late)
  const noTenant = await openBrowser(kit).get(`/admin/login/saml?provider=${second.provider_id}&tenant=nobody`)
  assert.deepEqual([noTenant.status, await reasons()], [401, ['saml:unknown_tenant']])
  const everyReason: Record<Exclude<ReturnReason, 'unknown_tenant' | 'request_spent'> | 'state', true> = {
    unknown_provider: true,
    no_state: true,
    unknown_state: true,
    no_cookie: true,
    no_response: true,
    state: true,
    other_browser: true,
    other_provider: true,
    request_expired: true,
  }
  assert.deepEqual([...seen].sort(), Object.keys(everyReason).sort())
  assert.equal(pages.size, 1, [...pages].join('\n'))
  assert.deepEqual(
    (await kit.admin.listUsers({ query: { source: 'sso' } })).items.map((u) => u.username),
    ['anna'],
  )
}
