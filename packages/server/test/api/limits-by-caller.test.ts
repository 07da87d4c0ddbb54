import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract } from '@holdfast/contract'
import { defaultSecuritySettings } from '@holdfast/contract/settings'
import { changeSecuritySettings } from '@holdfast/sdk'
import { decodeId } from '../../src/kernel/ids.ts'
import { enrollFactor, makeUser, type Person, signInAs, untilNextStep } from '../support/actors/people.ts'
import { type Got, type Sent, send } from '../support/clients/raw-http.ts'
import { createClock, type Kit, startKit } from '../support/deployment/deployment.ts'
import { eachLimit, looser, over } from '../support/domain/security-limits.ts'

type Ask = (sent: Sent) => Promise<Got>
type Callers = Record<string, Ask>
const byKey =
  (kit: Kit, secret: string): Ask =>
  (sent) =>
    send(kit.url, { ...sent, headers: { authorization: `Bearer ${secret}` } })
const secretOf = (got: Got): string => (got.json.secret as string) ?? assert.fail(got.text)

test('whatever stands for a person is bound by what binds that person', async (t) => {
  const clock = createClock(untilNextStep())
  const kit = await startKit(t, { now: clock.now })
  const root = await makeUser(kit, 'root', ['tenant_admin', 'auditor'])
  const { person, app } = await enrollFactor(kit, 'root', clock.now)
  const provider = await kit.admin.createIdentityProvider({
    body: { name: 'Login', kind: 'oidc', enabled: false, oidc: { issuer: 'https://192.0.2.1', client_id: 'x' } },
  })
  const keys = await keysOf(kit, person)
  clock.advance(30)
  const stale = await sessionOfProvider(kit, {
    user_id: root,
    code: app.code(),
    provider: provider.provider_id,
  })
  await setStrict(kit)
  clock.advance(301)
  const callers: Callers = { ...keys, 'a session of long ago': (sent) => stale.request(sent) }

  await t.test('operations on the own account', () => operations(kit, callers, { root, ...provider }))
  await t.test('settings', () => settings(kit, keys))
  await t.test('an approval', () => approval(kit, keys, stale))
  await t.test('who stands for nobody is not bound, and fresh proof is enough for a session', async () => {
    const robot = await serviceAccount(kit, asAdmin(kit), 'free-robot')
    const free = byKey(kit, secretOf(await keyFor(asAdmin(kit), robot)))
    const json = over(await kit.admin.getSecuritySettings(), { login: { enforce_sso: true } })
    const lifted = over(json, { login: { max_failures_per_ip: 21 } })
    assert.equal((await free({ method: 'PUT', path: '/v1/admin/settings/security', json: lifted })).status, 200)
    const path = '/v1/admin/users/break-glass'
    assert.equal((await stale.post(path, { user_id: root, break_glass: true })).status, 403)
    const code = await stale.post('/v1/admin/auth/step-up', { code: app.code() })
    assert.equal(code.status, 200, code.text)
    const mark = () => {
      const json = { user_id: root, break_glass: true }
      return stale.request({ method: 'POST', path, json, headers: { 'idempotency-key': 'mark-root' } })
    }
    const marked = await mark()
    assert.deepEqual([marked.status, marked.json.changed], [200, true], marked.text)

    // Later the same request gets the stored answer, and does not mark the user again.
    const spare = await makeUser(kit, 'spare', ['tenant_admin'])
    await kit.admin.setBreakGlass({ body: { user_id: spare, break_glass: true } })
    await kit.admin.setBreakGlass({ body: { user_id: root, break_glass: false } })
    clock.advance(301)
    const repeated = await mark()
    assert.deepEqual([repeated.status, repeated.headers['idempotency-replayed']], [200, 'true'], repeated.text)
    assert.equal((await kit.admin.getUser({ params: { user_id: root } })).break_glass, false)
  })
  await t.test('a lock of the person', () => locked(kit, callers, root))
})

const asAdmin = (kit: Kit): Ask => byKey(kit, kit.adminKey)
async function serviceAccount(kit: Kit, maker: Ask, username: string): Promise<string> {
  const json = { operation: 'create', user: { username, kind: 'service' } }
  const made = await maker({ method: 'POST', path: '/v1/admin/users/lifecycle', json })
  const { user_id } = made.json.user ?? assert.fail(made.text)
  await kit.admin.grantRole({ body: { user_id, role: 'tenant_admin' } })
  return user_id
}
const keyFor = (maker: Ask, user_id?: string): Promise<Got> => {
  const json = { name: 'key', role: 'tenant_admin', ...(user_id && { user_id }) }
  return maker({ method: 'POST', path: '/v1/admin/api-keys', json })
}

/** Keys that act for the person of this session, each created in a different way. */
async function keysOf(kit: Kit, person: Person): Promise<Callers> {
  const session: Ask = (sent) => person.request(sent)
  const own = byKey(kit, secretOf(await keyFor(session)))
  const byOwn = byKey(kit, secretOf(await keyFor(own)))
  const robot = await serviceAccount(kit, session, 'robot')
  const ofRobot = byKey(kit, secretOf(await keyFor(session, robot)))
  const robotOfKey = await serviceAccount(kit, own, 'robot-of-key')
  const robotOfRobot = await serviceAccount(kit, ofRobot, 'robot-of-robot')
  const free = await serviceAccount(kit, asAdmin(kit), 'robot-of-deployment')
  const older = await keyFor(session, free)
  await kit.db.inTenant(kit.tenant, (tx) =>
    tx
      .updateTable('api_keys')
      .set({ stands_for: [] })
      .where('tenant_id', '=', kit.tenant)
      .where('key_id', '=', decodeId('api_key', older.json.api_key.key_id)!)
      .execute(),
  )
  return {
    'a key from before its maker was recorded': byKey(kit, secretOf(older)),
    'a key': own,
    'a key that a key made': byOwn,
    'a service account made in person': ofRobot,
    'the same by a key of the deployment': byKey(kit, secretOf(await keyFor(asAdmin(kit), robot))),
    'a service account made by a key': byKey(kit, secretOf(await keyFor(own, robotOfKey))),
    'a service account made by a service account': byKey(kit, secretOf(await keyFor(asAdmin(kit), robotOfRobot))),
    'a key for an account of the deployment': byKey(kit, secretOf(await keyFor(session, free))),
  }
}

/** A session that looks as if the provider had opened it, so that it stays valid while only providers may sign in. */
async function sessionOfProvider(
  kit: Kit,
  { user_id, code, provider }: { user_id: string; code: string; provider: string },
): Promise<Person> {
  const person = await signInAs(kit, 'root', { totp: code })
  await kit.db.inTenant(kit.tenant, (tx) =>
    tx
      .updateTable('admin_sessions')
      .set({ provider_id: decodeId('identity_provider', provider)!, provider_subject: 'root' })
      .where('tenant_id', '=', kit.tenant)
      .where('ended_at', 'is', null)
      .execute(),
  )
  // The cached sessions of a user are read again after a change of the user.
  await kit.admin.changeUser({ body: { operation: 'update', user_id, user: { display_name: 'Root' } } })
  await kit.heard()
  assert.equal((await person.get('/v1/admin/me')).status, 200)
  return person
}

const strict = {
  ...defaultSecuritySettings,
  login: { ...defaultSecuritySettings.login, enforce_sso: true },
  api: { ...defaultSecuritySettings.api, ...Object.fromEntries(Object.keys(looser.api).map((f) => [f, 100_000])) },
  mfa: { required_roles: ['auditor'] as 'auditor'[], step_up: false },
}
async function setStrict(kit: Kit): Promise<void> {
  const write = (security: object) =>
    kit.db.inTenant(kit.tenant, (tx) =>
      tx
        .updateTable('tenant_settings')
        .set({ security: JSON.stringify(security) })
        .where('tenant_id', '=', kit.tenant)
        .execute(),
    )
  await changeSecuritySettings(kit.admin, { login: { lockout_threshold: 9 } })
  await write({ ...strict, login: { ...strict.login, lockout_seconds: 800 } })
  // Replicas learn of the direct change through a change that is announced to them.
  await kit.admin.updateSecuritySettings({ body: strict })
}

/** Operations that name a user, sent by callers who are that user or act for them. */
async function operations(kit: Kit, callers: Callers, { root, provider_id }: { root: string; provider_id: string }) {
  const generate = { user_id: root, generate: true }
  const another = await makeUser(kit, 'another', ['viewer'])
  const user = { user_id: root }
  const lifts: Record<string, [path: string, body: object][]> = {
    unlockUser: [['/v1/admin/users/unlock', user]],
    reactivateUser: [['/v1/admin/users/reactivate', user]],
    changeUser: [
      ['/v1/admin/users/lifecycle', { operation: 'unlock', ...user }],
      ['/v1/admin/users/lifecycle', { operation: 'reactivate', ...user }],
    ],
    setBreakGlass: [
      ['/v1/admin/users/break-glass', { ...user, break_glass: true }],
      ['/v1/admin/users/break-glass', { user_id: another, break_glass: true }],
    ],
    changePassword: [
      ['/v1/admin/users/password', generate],
      ['/v1/admin/users/password', { ...user, new_password: 'seven crabs walk sideways' }],
    ],
    disableTotp: [['/v1/admin/users/totp/disable', user]],
    enrollTotp: [['/v1/admin/users/totp/enroll', user]],
    verifyTotp: [['/v1/admin/users/totp/verify', { ...user, code: '000000' }]],
    revokeRole: [['/v1/admin/rbac/revoke', { ...user, role: 'auditor' }]],
    linkUserIdentity: [[`/v1/admin/users/${root}/identities`, { provider_id, subject: 'mine' }]],
    unlinkUserIdentity: [[`/v1/admin/users/${root}/identities/unlink`, { provider_id, subject: 'not linked' }]],
  }
  const doNotLift: Record<string, string> = {
    createApiKey: 'a key does no more than its owner, and stands for its maker',
    suspendUser: 'it keeps somebody out',
    revokeApiKeysOfUser: 'it ends keys',
    grantRole: 'no role that allows more than the caller may do',
    generateToken: 'it enrolls a device, which no limit of a person binds',
    changeDevice: 'the same',
    changeDevices: 'a filter',
    explainPolicy: 'it changes nothing',
    simulatePolicy: 'it changes nothing',
    terminateSessions: 'a filter',
    placeLegalHold: 'it keeps what would be purged',
    updateView: 'the owner is only shown',
  }
  assert.deepEqual(namingUsers(), [...Object.keys(lifts), ...Object.keys(doNotLift)].sort(), 'each is thought of')

  const before = await kit.admin.getUser({ params: { user_id: root } })
  const wrong: string[] = []
  for (const [who, ask] of Object.entries(callers))
    for (const [operation, ways] of Object.entries(lifts))
      for (const [path, json] of ways) {
        const got = await ask({ method: 'POST', path, json })
        // For changes to its own account, a session needs the password or a fresh sign-in. Ending a link needs neither.
        const isOwn = who.includes('session')
        const mayDo = isOwn && operation === 'unlinkUserIdentity'
        const refused = got.status === 403 || (isOwn && got.status === 422)
        if (mayDo ? ![200, 201].includes(got.status) : !refused)
          wrong.push(`${who}: ${operation} ${got.status} ${got.text}`)
      }
  assert.deepEqual(wrong, [])
  const after = await kit.admin.getUser({ params: { user_id: root } })
  assert.deepEqual([after.roles, after.break_glass, after.mfa], [before.roles, before.break_glass, before.mfa])
}

type Schema = { properties?: Record<string, Schema>; anyOf?: Schema[]; items?: Schema }
const namesUser = ({ properties = {}, anyOf = [], items }: Schema): boolean =>
  'user_id' in properties || [...Object.values(properties), ...anyOf, ...(items ? [items] : [])].some(namesUser)
/** Writes whose path or body names a user. */
const namingUsers = () =>
  Object.entries(contract)
    .filter(([, e]) => e.method !== 'GET')
    .filter(([, e]) => ['params', 'body'].some((part) => part in e && namesUser(Object(e)[part])))
    .map(([name]) => name)
    .sort()

async function settings(kit: Kit, keys: Callers): Promise<void> {
  const wrong: string[] = []
  for (const [who, ask] of Object.entries(keys))
    for (const { section, field, binds, value } of eachLimit()) {
      if (binds === 'nobody here') continue
      const json = over(strict, { [section]: { [field]: value } })
      const got = await ask({ method: 'PUT', path: '/v1/admin/settings/security', json })
      // `step_up` is off already, so turning it off loosens nothing.
      if (got.status !== (section === 'mfa' && field === 'step_up' ? 200 : 403))
        wrong.push(`${who}: ${section}.${field} ${got.status} ${got.text}`)
    }
  assert.deepEqual(wrong, [])
  assert.deepEqual(await kit.admin.getSecuritySettings(), strict)
}

async function locked(kit: Kit, callers: Callers, root: string): Promise<void> {
  const target = { type: 'user' as const, id: root }
  const robot = callers['a service account made in person']!
  const json = { target, reason: 'a service account may stop the person who made it' }
  const made = await robot({ method: 'POST', path: '/v1/admin/locks', json })
  const { lock } = made.json.lock ? made.json : assert.fail(made.text)
  await kit.heard()
  const path = `/v1/admin/locks/${lock.lock_id}/release`
  for (const [who, ask] of Object.entries(callers)) {
    const got = await ask({ method: 'POST', path, json: { reason: 'mine' } })
    assert.ok(got.status === 403 || got.status === 401, `${who} ${got.status} ${got.text}`)
  }
  assert.equal((await kit.admin.getLock({ params: { lock_id: lock.lock_id } })).status, 'active')
  await kit.admin.releaseLock({ params: { lock_id: lock.lock_id }, body: { reason: 'over' } })
  await kit.heard()
}

/** A person can't approve runs that they requested by their key or by an account of theirs. */
async function approval(kit: Kit, keys: Callers, person: Person): Promise<void> {
  const { items } = await kit.admin.listSigners({ query: { purpose: 'policy', state: 'active' } })
  for (const [who, ask] of Object.entries(keys)) {
    const json = { playbook: 'signing_key_compromise', params: { signer_id: items[0]!.signer_id }, reason: who }
    const asked = await ask({ method: 'POST', path: '/v1/admin/incident/playbook', json })
    assert.equal(asked.json.run?.status, 'awaiting_approval', asked.text)
    const run = `/v1/admin/incident/runs/${asked.json.run.workflow_run_id}`
    const approved = await person.post(run, { operation: 'approve' })
    assert.equal(approved.status, 403, `${who} ${approved.text}`)
    assert.equal((await person.post(run, { operation: 'cancel' })).status, 200)
  }
}
