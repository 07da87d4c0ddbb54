import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract } from '@holdfast/contract'
import { peekDeviceCredential, thumbprint } from '@holdfast/crypto'
import { changeIdentityProvider, changeSecuritySettings } from '@holdfast/sdk'
import { bearer, call, challengeFrom, deviceCaller, operation, type Raw } from '../support/actors/all-callers.ts'
import { newKey } from '../support/actors/oidc-enrollment.ts'
import { makeUser } from '../support/actors/people.ts'
import { openBrowser } from '../support/clients/browser.ts'
import { send } from '../support/clients/raw-http.ts'
import { type Replica, times } from '../support/deployment/deployment.ts'
import { answeringBoth, metadataOf, requestIn, type SamlWorld, startSaml } from '../support/providers/saml-idp.ts'
import { rsaKey, signed } from '../support/providers/saml-responses.ts'

const begin = operation('beginEnrollmentBySaml')
const enroll = operation('enrollBySaml')
const redirect_uri = 'http://127.0.0.1:49152/callback'
const device = { name: 'phone', platform: 'ios' }

/** A deployment on two replicas, with the requests of a device of Anna's. */
async function start(t: Parameters<typeof startSaml>[0]) {
  const w = await startSaml(t, { replicas: 2, settings: { enrollment: true, sign_in: false } })
  const { kit, provider, clock } = w
  await changeSecuritySettings(kit.admin, { login: { max_failures_per_ip: 10_000, window_seconds: 10 } })
  const { secret: token } = await kit.admin.generateToken({ body: { kind: 'bootstrap', max_uses: 0 } })
  const challengeOf = () => challengeFrom(kit, bearer(token))
  type Machine = { challenge: string; key: ReturnType<typeof newKey>; on?: Replica }
  const beginWith = ({ challenge, key, on = kit }: Machine, body: object = {}) =>
    call({ ...kit, ...on }, begin, deviceCaller(challenge, key, clock.now), {
      provider_id: provider.provider_id,
      redirect_uri,
      ...body,
    })
  const finishWith = ({ challenge, key, on = kit }: Machine, body: object) =>
    call({ ...kit, ...on }, enroll, deviceCaller(challenge, key, clock.now), { device, ...body })
  const machine = async () => ({ challenge: await challengeOf(), key: newKey() })
  return { ...w, token, machine, beginWith, finishWith }
}
/** The reason of the refusal, from the audit log. */
async function reasonOf({ kit }: Pick<SamlWorld, 'kit'>, answer: Raw): Promise<unknown> {
  const { items } = await kit.admin.listAuditEvents({ query: { request_id: String(answer.headers['x-request-id']) } })
  return items.map((e) => ('reason' in e ? e.reason : e.kind)).join()
}

test('who enrolls by SAML, in a deployment of two replicas', async (t) => {
  const w = await start(t)

  await t.test('a person who signs in by SAML enrolls a device of their own', async () => {
    const { kit, provider, acs, answer, machine, beginWith, finishWith } = w
    const listed = await call(kit, contract.listEnrollmentProviders, bearer(w.token))
    assert.deepEqual(listed.json.items, [
      {
        provider_id: provider.provider_id,
        name: 'Login',
        kind: 'saml',
        issuer: w.idp.entityId,
        client_ids: [],
        scopes: [],
        device_code: false,
      },
    ])
    const mine = await machine()
    const begun = await beginWith(mine)
    assert.equal(begun.status, 201, begun.text)
    const { request_id, redirect_url } = begun.json as { request_id: string; redirect_url: string }
    assert.equal(requestIn(redirect_url).relayState, request_id)

    // The person's browser has no cookie of ours; the page leads the response to the machine that began.
    const form = answer(redirect_url)
    const page = await openBrowser(kit).post(acs, form)
    assert.equal(page.status, 200, page.text)
    assert.match(String(page.headers['content-security-policy']), /form-action http:\/\/127\.0\.0\.1:49152;/)
    assert.equal(page.headers['set-cookie'], undefined)
    assert.match(page.text, new RegExp(`<form method="post" action="${redirect_uri}">`))
    const field = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(page.text)?.[1]
    assert.deepEqual([field('SAMLResponse'), field('RelayState')], [form.SAMLResponse, request_id])

    const enrolled = await finishWith(mine, { request_id, saml_response: form.SAMLResponse })
    assert.equal(enrolled.status, 201, enrolled.text)
    const credential = String(enrolled.json.credential)
    const { claims } = peekDeviceCredential(credential)
    assert.deepEqual([claims.enr, claims.cnf?.jkt], ['saml', thumbprint(mine.key)])
    assert.equal((await call(kit, operation('policyDigest'), deviceCaller(credential, mine.key))).status, 200)
    const shown = await kit.admin.getDevice({ params: { device_id: String(enrolled.json.device_id) } })
    const by = { provider_id: provider.provider_id, provider_name: provider.name }
    assert.deepEqual(shown.enrolled_by, { method: 'saml', token_id: null, token_name: null, ...by })
    const user = await kit.admin.getUser({ params: { user_id: String(shown.user_id) } })
    assert.deepEqual([user.username, user.source, user.last_login_at], ['anna', 'sso', null], 'it was no sign-in')
    const { items } = await kit.admin.listAuditEvents({ query: { limit: 200 } })
    const told = JSON.stringify(items) + kit.logs.join()
    assert.ok(items.some((e) => e.kind === 'saml_request.created'))
    for (const secret of [mine.challenge, credential, request_id, form.SAMLResponse]) assert.ok(!told.includes(secret))
  })

  await t.test('a response enrolls the one device that it was asked for with, once, on any replica', async () => {
    const { kit, acs, answer, machine, beginWith, finishWith, clock, idp } = w
    const pages = new Set<string>()
    const before = (await kit.admin.listDevices()).items.length
    const refused = async (what: string, reason: string, got: Raw) => {
      assert.equal(got.status, 401, `${what}: ${got.text}`)
      assert.equal(await reasonOf(w, got), reason, what)
      pages.add(got.text.replace(/"request_id":"[^"]+"/, ''))
    }
    const mine = await machine()
    const begun = async (of = mine) => {
      const { json } = await beginWith(of)
      return json as { request_id: string; redirect_url: string }
    }
    const { request_id, redirect_url } = await begun()
    const saml_response = answer(redirect_url).SAMLResponse
    const body = { request_id, saml_response }
    const other = await machine()
    await refused('another key', 'unknown_request', await finishWith({ ...mine, key: newKey() }, body))
    await refused('another challenge', 'unknown_request', await finishWith({ ...other, key: mine.key }, body))
    await refused('another device', 'unknown_request', await finishWith(other, body))
    await refused('no request', 'unknown_request', await finishWith(mine, { ...body, request_id: 'hfr_x' }))
    const theirs = await begun(other)
    await refused(
      'a response to another request',
      'state',
      await finishWith(other, { ...body, request_id: theirs.request_id }),
    )
    const forged = answer(redirect_url, {}, undefined, (xml) => signed(xml, 'Assertion', { key: rsaKey() }))
    await refused(
      'a stranger’s response',
      'signature',
      await finishWith(mine, { ...body, saml_response: forged.SAMLResponse }),
    )
    // A request of a sign-in is not valid for a device, and vice versa.
    await w.set({ sign_in: true })
    const browser = openBrowser(kit)
    const signIn = answer(await w.away(browser))
    await refused(
      'a response to a sign-in',
      'unknown_request',
      await finishWith(mine, {
        request_id: signIn.RelayState,
        saml_response: signIn.SAMLResponse,
      }),
    )
    const atDoor = await browser.post(acs, answer(redirect_url))
    assert.deepEqual([atDoor.status, browser.cookies.has('holdfast_session')], [200, false], 'it is handed over only')

    const answers = await times(20, (i) => finishWith({ ...mine, on: kit.replicas[i % 2]! }, body))
    assert.deepEqual(answers.map((a) => a.status).sort(), [201, ...Array(19).fill(401)])
    assert.equal((await kit.admin.listDevices()).items.length, before + 1)
    for (const on of kit.replicas) assert.equal((await finishWith({ ...mine, on }, body)).status, 401)
    const more = { request_id, saml_response: answer(redirect_url).SAMLResponse }
    await refused('another response to a request that was used', 'unknown_request', await finishWith(mine, more))
    const pair = [await machine(), await machine()] as const
    const asked = [await begun(pair[0]), await begun(pair[1])] as const
    const [a, b] = [requestIn(asked[0].redirect_url).id, requestIn(asked[1].redirect_url).id]
    const said = { id: 'twice' }
    const one = answer(asked[0].redirect_url, said, answeringBoth(a, b)).SAMLResponse
    const once = await finishWith(pair[0], { request_id: asked[0].request_id, saml_response: one })
    assert.equal(once.status, 201, once.text)
    const two = answer(asked[1].redirect_url, said, answeringBoth(b, a)).SAMLResponse
    await refused(
      'an assertion that was used',
      'replayed',
      await finishWith(pair[1], { request_id: asked[1].request_id, saml_response: two }),
    )
    const late = await machine()
    const slow = await begun(late)
    clock.advance(10 * 60 + 1)
    const tooLate = await finishWith(late, {
      request_id: slow.request_id,
      saml_response: answer(slow.redirect_url).SAMLResponse,
    })
    await refused('after ten minutes', 'unknown_request', tooLate)
    assert.equal((await openBrowser(kit).post(acs, answer(slow.redirect_url))).status, 401, 'nor is it handed over')
    assert.equal(pages.size, 1)
    assert.equal(idp.hits, 1)
  })

  await t.test('a key that a weaker administrator set enrolls no device of a stronger person', async () => {
    const { kit, answer, machine, beginWith, finishWith, params, idp, set } = w
    const user_id = await makeUser(kit, 'root', ['platform_admin'])
    const subject = 'root there'
    await kit.admin.linkUserIdentity({ params: { user_id }, body: { ...params, subject } })
    const security = await kit.as('security_admin')
    // Provisioning of new users is a separate setting with a separate permission.
    await set({ provisioning: 'none' })
    const theirs = rsaKey()
    const saml = { metadata_url: null, metadata_xml: metadataOf(idp.entityId, idp.ssoUrl, [...idp.keys, theirs]) }
    const enter = async () => {
      const mine = await machine()
      const { request_id, redirect_url } = (await beginWith(mine)).json as Record<string, string>
      const sign = (xml: string) => signed(xml, 'Assertion', { key: theirs })
      const form = answer(String(redirect_url), { subject }, undefined, sign)
      const got = await finishWith(mine, { request_id, saml_response: form.SAMLResponse })
      return [got.status, await reasonOf(w, got)]
    }
    await assert.rejects(changeIdentityProvider(security, { params }, { saml }), { status: 403 })
    assert.deepEqual(await enter(), [401, 'signature'])
    const ending = { params, query: { end_links_of_stronger: true } }
    assert.equal((await changeIdentityProvider(security, ending, { saml })).ended_links?.links, 1)
    assert.deepEqual(await enter(), [401, 'not_linked'], 'the account is nobody’s')
    await set({ provisioning: 'create', saml: { idp: null, metadata_url: idp.url } })
  })

  await t.test(
    'approval, the limit of devices and the provider hold as for others; where it leads is this machine',
    async () => {
      const { kit, answer, machine, beginWith, finishWith, set } = w
      const bea = { subject: 'bea', attributes: { username: 'bea', email: 'bea@example.com' } }
      const whole = async () => {
        const mine = await machine()
        const { request_id, redirect_url } = (await beginWith(mine)).json as Record<string, string>
        return finishWith(mine, { request_id, saml_response: answer(String(redirect_url), bea).SAMLResponse })
      }
      await set({ requires_approval: true, max_devices_per_user: 1 })
      const first = await whole()
      assert.deepEqual([first.status, first.json.status], [201, 'pending'])
      assert.equal((await whole()).json.error, 'entitlement_exceeded')
      await set({ provisioning: 'none', max_devices_per_user: null })
      const mine = await machine()
      const { request_id, redirect_url } = (await beginWith(mine)).json as Record<string, string>
      await set({ enrollment: false })
      const closed = await finishWith(mine, { request_id, saml_response: answer(String(redirect_url)).SAMLResponse })
      assert.deepEqual([closed.status, await reasonOf(w, closed)], [401, 'turned_off'])
      const shut = await beginWith(mine)
      assert.deepEqual([shut.status, await reasonOf(w, shut)], [401, 'turned_off'])
      for (const uri of [
        'https://evil.example/callback',
        'http://127.0.0.1.evil.example:8080/',
        'http://127.0.0.1:80/',
        'http://localhost:8080/',
        'http://127.0.0.1:8080@evil.example/',
        'http://127.0.0.1:8080/"onclick=',
      ])
        assert.equal((await beginWith(mine, { redirect_uri: uri })).status, 422, uri)
      assert.equal(
        (await call(kit, begin, bearer(mine.challenge), { provider_id: w.provider.provider_id, redirect_uri })).status,
        422,
      )
      const path = `/admin/signed-out?${new URLSearchParams({ provider: w.provider.provider_id, tenant: 'none' })}`
      const begun = new Set<number>()
      for (let round = 0; round < 40 && !begun.has(429); round++) {
        await times(30, () => send(kit.url, { path }))
        for (const { status } of await times(3, () => beginWith(mine))) begun.add(status)
      }
      assert.deepEqual([...begun].sort(), [401, 429], 'of one address as many begin as of people who sign in')
    },
  )
})
