import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { contract } from '@holdfast/contract'
import { createProof, enrollmentNonce, mintChallenge, peekDeviceCredential, thumbprint } from '@holdfast/crypto'
import { changeIdentityProvider } from '@holdfast/sdk'
import { bearer, call, deviceCaller, operation, type Raw } from '../support/actors/all-callers.ts'
import {
  type Attempt,
  attempt,
  challengeOf,
  fresh,
  newKey,
  reasons,
  start,
  tokenFor,
  type World,
} from '../support/actors/oidc-enrollment.ts'

const enroll = operation('enrollByOidc')
const device = { name: 'phone', platform: 'ios' }

test('a device is enrolled by an identity provider', async (t) => {
  const w = await start(t)
  await t.test(
    'whatever does not prove who it is and for which key is the same 401; why is in the audit event alone',
    () => unproven(w),
  )
  await t.test('a person who signs in at the identity provider enrolls a device of their own', () => ownDevice(w))
  await t.test('a code of a public client enrolls as an ID token does', () => byCode(w))
  await t.test('groups of which the provider could not be asked stay as they are', () => unknownGroups(w))
  await t.test('a provider that is turned off, or enrolls nobody, and a user who is suspended: the same 401', () =>
    notAdmitted(w),
  )
  await t.test('what is changed of a provider while it is asked holds for who is on the way', () => onTheWay(w))
})

async function unproven(w: World): Promise<void> {
  const { kit, clock } = w
  const now = Math.floor(clock.now().getTime() / 1000)
  const thief = newKey()
  const challenge = await challengeOf(w)
  const foreign = await kit.newTenant()
  const auditor = await kit.as('tenant_admin', foreign)
  const foreignChallenge = mintChallenge(kit.peppers, foreign, new Date(clock.now().getTime() + 60_000)).token
  const stolen = await tokenFor(w, { nonce: enrollmentNonce(challenge, thumbprint(newKey())) })
  const refused: Record<string, [reason: string, given: Partial<Attempt>]> = {
    'an ID token for another key': ['nonce', { challenge, key: thief, body: { id_token: stolen } }],
    'an ID token without a nonce': ['nonce', { claims: { nonce: undefined } }],
    'an ID token for another challenge': ['nonce', { claims: { nonce: enrollmentNonce('hfc_x', thumbprint(thief)) } }],
    'an ID token for the web client': ['audience', { claims: { aud: 'holdfast' } }],
    'an ID token for others too': ['audience', { claims: { aud: ['phone', 'other'] } }],
    'an ID token of 12 minutes ago': ['time', { claims: { iat: now - 720 } }],
    'an expired ID token': ['time', { claims: { exp: now - 120 } }],
    'an ID token of another issuer': ['issuer', { claims: { iss: 'http://127.0.0.1:1' } }],
    'what is no ID token': ['token', { body: { id_token: 'a.b.c' } }],
    'somebody whom nobody linked': ['not_linked', { claims: { sub: 'sub-of-bob' } }],
    'a challenge of another tenant': ['unknown_provider', { challenge: foreignChallenge }],
  }
  const answers = new Set<string>()
  const expect401 = async (what: string, reason: string | undefined, answer: Raw) => {
    assert.equal(answer.status, 401, `${what}: ${answer.text}`)
    answers.add(answer.text.replace(/"request_id":"[^"]+"/, ''))
    const its = what === 'a challenge of another tenant' ? auditor : kit.admin
    if (reason !== undefined) assert.deepEqual(await reasons(its, answer), [reason], what)
  }
  for (const [what, [reason, given]] of Object.entries(refused)) await expect401(what, reason, await fresh(w, given))

  const spelled = await challengeOf(w)
  const bent = spelled.slice(0, -1) + (spelled.endsWith('0') ? '1' : '0')
  await expect401('a challenge that was never given out', undefined, await fresh(w, { challenge: bent }))
  await expect401(
    'no challenge',
    undefined,
    await call(kit, enroll, null, { provider_id: w.provider.provider_id, device }),
  )
  assert.equal((await fresh(w, { challenge: w.token })).status, 403, 'an enrollment token in its place')
  const key = newKey()
  const proof = { method: 'POST', url: kit.publicUrl + enroll.path, now: clock.now() }
  for (const [what, dpop] of [
    ['a proof over another credential', createProof(key, { ...proof, accessToken: spelled })],
    ['a proof by another key', createProof(thief, { ...proof, accessToken: challenge })],
  ] as const)
    await expect401(what, undefined, await fresh(w, { challenge, key, headers: { dpop } }))
  assert.deepEqual((await kit.admin.listDevices()).items, [], 'and nobody was enrolled')
  assert.equal((await fresh(w)).status, 201)
  const old = await challengeOf(w)
  clock.advance(15 * 60 + 1)
  await expect401('a challenge of 15 minutes ago', 'expired', await fresh(w, { challenge: old }))
  assert.deepEqual([...answers].length, 1, [...answers].join('\n'))
}

async function ownDevice(w: World): Promise<void> {
  const { kit, provider, user } = w
  const listed = await call(kit, contract.listEnrollmentProviders, bearer(w.token))
  assert.deepEqual(listed.json.items, [
    {
      provider_id: provider.provider_id,
      name: 'staff',
      kind: 'oidc',
      issuer: w.idp.issuer,
      client_ids: ['phone', 'laptop'],
      scopes: provider.oidc?.scopes,
      device_code: false,
    },
  ])
  const challenge = String(listed.json.challenge)
  const left = Date.parse(String(listed.json.challenge_expires_at)) - w.clock.now().getTime()
  assert.ok(left > 14 * 60_000 && left <= 15 * 60_000, `${left}`)

  const key = newKey()
  const answer = await attempt(w, { challenge, key })
  assert.equal(answer.status, 201, answer.text)
  assert.deepEqual([answer.json.user_id, answer.json.status, answer.json.binding], [user.user_id, 'active', 'dpop'])
  const credential = String(answer.json.credential)
  const { claims } = peekDeviceCredential(credential)
  assert.deepEqual([claims.enr, claims.uid, claims.cnf?.jkt], ['oidc', user.user_id, thumbprint(key)])
  assert.equal((await call(kit, operation('policyDigest'), deviceCaller(credential, key, w.clock.now))).status, 200)

  const device_id = String(answer.json.device_id)
  const shown = await kit.admin.getDevice({ params: { device_id } })
  const by = { provider_id: provider.provider_id, provider_name: provider.name }
  const enrolled_by = { method: 'oidc', token_id: null, token_name: null, ...by }
  assert.deepEqual([shown.user_id, shown.enrolled_by], [user.user_id, enrolled_by])
  const [event] = (await kit.admin.listAuditEvents({ query: { kind: 'device.enrolled' } })).items
  const { method, provider_id, target, actor } = event as unknown as Record<string, unknown>
  assert.deepEqual(
    [method, provider_id, target],
    ['oidc', provider.provider_id, { type: 'device', id: device_id, name: 'phone' }],
  )
  assert.equal((actor as { type: string }).type, 'enrollment_challenge')

  const renewed = await call(kit, operation('renewCredential'), deviceCaller(credential, key, w.clock.now), {})
  assert.equal(peekDeviceCredential(String(renewed.json.credential)).claims.enr, 'oidc', 'renewal keeps the method')

  const secrets = [challenge, credential]
  const told = JSON.stringify((await kit.admin.listAuditEvents({ query: { limit: 200 } })).items) + kit.logs.join()
  assert.ok(!secrets.some((s) => told.includes(s)))
}

async function unknownGroups(w: World): Promise<void> {
  const { kit, idp, provider } = w
  const params = { provider_id: provider.provider_id }
  const { group } = await kit.admin.changeGroup({ body: { operation: 'create', group: { name: 'engineers' } } })
  const group_mappings = [{ value: '/eng', group_id: group.group_id }]
  await changeIdentityProvider(kit.admin, { params }, { provisioning: 'create', group_mappings })
  const come = async (claims: Record<string, unknown>, body?: Record<string, unknown>) => {
    const who = { sub: 'sub-of-eva', preferred_username: 'eva' }
    const answer = await fresh(w, { claims: { ...who, ...claims }, ...(body && { body }) })
    assert.equal(answer.status, 201, answer.text)
    return (await kit.admin.getUser({ params: { user_id: String(answer.json.user_id) } })).group_ids
  }
  assert.deepEqual(await come({ groups: ['/eng'] }), [group.group_id])
  // The provider has no UserInfo endpoint: only the ID token counts.
  assert.deepEqual(await come({}), [])
  assert.deepEqual(await come({ groups: ['/eng'] }), [group.group_id])
  idp.changed.userinfo_endpoint = `${idp.issuer}/userinfo`
  await kit.admin.testIdentityProvider({ params })
  assert.deepEqual(await come({}), [group.group_id], 'an ID token alone can not be asked about')
  assert.deepEqual(await come({ groups: [] }), [], 'and what it does say holds')
  delete idp.changed.userinfo_endpoint
  await kit.admin.testIdentityProvider({ params })
  await changeIdentityProvider(kit.admin, { params }, { provisioning: 'none', group_mappings: [] })
}

async function byCode(w: World): Promise<void> {
  const challenge = await challengeOf(w)
  const key = newKey()
  const grant = { client_id: 'laptop', redirect_uri: 'http://127.0.0.1:3/callback', code_verifier: 'v'.repeat(43) }
  const nonce = enrollmentNonce(challenge, thumbprint(key))
  const code_challenge = createHash('sha256').update(grant.code_verifier).digest('base64url')
  const asked = `${w.idp.issuer}/authorize?${new URLSearchParams({ nonce, code_challenge, redirect_uri: grant.redirect_uri })}`
  const code = (await w.idp.answerTo(asked, () => tokenFor(w, { aud: 'laptop', nonce }))).get('code')
  const answer = await attempt(w, { challenge, key, body: { code, iss: w.idp.issuer, ...grant } })
  assert.equal(answer.status, 201, answer.text)
  const next = await challengeOf(w)
  const again = await attempt(w, { challenge: next, key: newKey(), body: { code, iss: w.idp.issuer, ...grant } })
  assert.deepEqual([again.status, await reasons(w.kit.admin, again)], [401, ['code']])
  const other = await attempt(w, {
    challenge: next,
    key: newKey(),
    body: { ...grant, code: 'x', client_id: 'holdfast' },
  })
  assert.deepEqual([other.status, await reasons(w.kit.admin, other)], [401, ['audience']])
  for (const body of [
    { code },
    { code, ...grant, redirect_uri: 'no url' },
    { code, ...grant, id_token: 'x' },
    { id_token: undefined },
  ])
    assert.equal((await attempt(w, { challenge: next, key: newKey(), body })).status, 422)
}

async function notAdmitted(w: World): Promise<void> {
  const { kit, provider, user } = w
  const { provider_id } = provider
  const set = async (fields: { enabled?: boolean; enrollment?: boolean }) => {
    const shown = await kit.admin.getIdentityProvider({ params: { provider_id } })
    await kit.admin.updateIdentityProvider({ params: { provider_id }, body: { ...shown, ...fields } })
  }
  for (const off of [{ enabled: false }, { enrollment: false }]) {
    await set(off)
    const listed = await call(kit, contract.listEnrollmentProviders, bearer(kit.adminKey))
    assert.deepEqual(listed.json.items, [])
    const answer = await fresh(w)
    assert.deepEqual([answer.status, await reasons(w.kit.admin, answer)], [401, ['turned_off']], JSON.stringify(off))
  }
  await set({ enabled: true, enrollment: true })
  await kit.admin.suspendUser({ body: { user_id: user.user_id } })
  const answer = await fresh(w)
  assert.deepEqual([answer.status, await reasons(w.kit.admin, answer)], [401, ['not_admitted']])
  await kit.admin.reactivateUser({ body: { user_id: user.user_id } })
  assert.equal((await fresh(w)).status, 201)
}

async function onTheWay(w: World): Promise<void> {
  const { kit, idp, provider } = w
  const challenge = await challengeOf(w)
  const key = newKey()
  const nonce = enrollmentNonce(challenge, thumbprint(key))
  idp.answers.set('/token', async (_, response) => {
    const params = { provider_id: provider.provider_id }
    await changeIdentityProvider(kit.admin, { params }, { requires_approval: true })
    const id_token = await tokenFor(w, { aud: 'laptop', nonce })
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ access_token: 'a', token_type: 'Bearer', id_token }))
  })
  const grant = { client_id: 'laptop', redirect_uri: 'http://127.0.0.1:3/callback', code_verifier: 'v'.repeat(43) }
  const answer = await attempt(w, { challenge, key, body: { code: 'x', iss: idp.issuer, ...grant } })
  assert.deepEqual([answer.status, await reasons(kit.admin, answer)], [401, ['provider_changed']])
  assert.equal((await fresh(w)).json.status, 'pending')
}
