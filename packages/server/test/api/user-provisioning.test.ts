import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sql } from 'kysely'
import { bootstrap } from '../../src/app/bootstrap.ts'
import { decodeId } from '../../src/kernel/ids.ts'
import { createAuthenticator, makeUser, passwordOf, signInAs, trySignIn } from '../support/actors/people.ts'
import {
  giveEveryAccess,
  noRemainingAccess,
  noWorkingAccess,
  remainingAccess,
  workingAccess,
} from '../support/actors/user-access.ts'
import { createScimDirectory, scimUser } from '../support/clients/scim-client.ts'
import { adminPassword } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import { inbox } from '../support/domain/notifications.ts'
import { createSource, runPull } from '../support/providers/directory-pulls.ts'
import { directoryUser, pushSnapshot, snapshotOf } from '../support/providers/directory-snapshots.ts'
import { startKeycloak } from '../support/providers/keycloak-directory.ts'
import { signedInAs, startFederated } from '../support/providers/oidc-sign-in.ts'

/** Spellings of the reserved name, and the form for sign-in to another tenant. */
const refusedNames = [
  'break-glass',
  'Break-GLASS',
  '\uff42reak-glass',
  'break-glass\u2028',
  'second\uff0fx',
  'second/x',
]
const letters = 'abcdef'
const people = {
  ...Object.fromEntries(refusedNames.map((name, i) => [`login-${letters[i]}`, { name }])),
  anna: { name: 'anna' },
}

/** Ends with the status and text of a refusal; `made` if a user has the name now. */
type Outcome = string

test('creation, renaming, removal and return of users', async (t) => {
  const { kit, provider, signIn, reasons } = await startFederated(t, { people, settings: { provisioning: 'create' } })
  const keycloak = await startKeycloak(kit)
  const { scim } = await createScimDirectory(kit, 'entra')
  const source = await createSource(kit.admin, keycloak, { provider: 'pulled' })
  const say = (e: unknown): Outcome => `${(e as { status?: number }).status} ${(e as Error).message}`
  let count = 0
  const fresh = () => `person-${++count}`

  const local = async (user: object, user_id?: string): Promise<Outcome> => {
    const body = { operation: user_id === undefined ? 'create' : 'update', user, ...(user_id && { user_id }) } as const
    return kit.admin.changeUser({ body }).then(() => 'made', say)
  }
  const idOfScim = async () => String((await scim.post('Users', scimUser(fresh()))).json.id)
  const said = ({ status, text }: { status: number; text: string }): Outcome =>
    status < 300 ? 'made' : `${status} ${text}`
  /** Snapshots name all of their directory; `others` keeps it from being empty. */
  const others = directoryUser('other')
  const snapshot = async (externalId: string, userName: string): Promise<Outcome> => {
    const run = await pushSnapshot(kit.admin, snapshotOf([others, { externalId, userName }]))
    const problem = run.problems.find((p) => p.external_id === externalId)
    return problem ? `${problem.problem} ${problem.detail}` : 'made'
  }
  const pulled = async (id: string | undefined, name: string): Promise<Outcome> => {
    const known = id ?? keycloak.addUser('pulled-other')
    keycloak.users.get(known)!.username = name
    const run = await runPull(kit.admin, source.source_id)
    keycloak.users.delete(known)
    const problem = run.problems.find((p) => p.external_id === known)
    return problem ? `${problem.problem} ${problem.detail}` : 'made'
  }

  /** Every way to create or rename a user. */
  const ways: Record<string, (name: string, place: number) => Promise<Outcome>> = {
    'local create': (username) => local({ username }),
    'local create of a service account': (username) => local({ username, kind: 'service' }),
    'local rename': async (username) => {
      const { user } = await kit.admin.changeUser({ body: { operation: 'create', user: { username: fresh() } } })
      return local({ username }, user.user_id)
    },
    'a new tenant': (username) =>
      kit.admin
        .changeTenant({ body: { operation: 'create', tenant: { name: fresh() }, administrator: { username } } })
        .then(() => 'made', say),
    'SCIM POST': async (name) => said(await scim.post('Users', scimUser(fresh(), { userName: name }))),
    'SCIM PUT': async (name) =>
      said(await scim.put(`Users/${await idOfScim()}`, scimUser(fresh(), { userName: name }))),
    'SCIM PATCH': async (name) =>
      said(await scim.patch(`Users/${await idOfScim()}`, [{ op: 'replace', path: 'userName', value: name }])),
    'a snapshot that creates': (name) => snapshot(fresh(), name),
    'a snapshot that renames': async (name) => {
      const id = fresh()
      assert.equal(await snapshot(id, fresh()), 'made')
      return snapshot(id, name)
    },
    'a pull that creates': (name) => pulled(undefined, name),
    'a pull that renames': async (name) => {
      const id = keycloak.addUser(fresh())
      await runPull(kit.admin, source.source_id)
      return pulled(id, name)
    },
    'sign-in with a provider that creates': async (_, place) => {
      const { answer } = await signIn(`login-${letters[place]}`)
      return answer.status === 401 ? String((await reasons(1))[0]) : 'made'
    },
  }

  await t.test('no user can get the name of the emergency account, or of another tenant', async () => {
    const made: string[] = []
    for (const [way, come] of Object.entries(ways))
      for (const [place, name] of refusedNames.entries()) {
        // Each pull is a run in the background; it reads names as a snapshot does.
        if (way.includes('pull') && place > 0 && place < refusedNames.length - 1) continue
        const outcome = await come(name, place)
        if (!/reserved|slash|username_refused|pattern|RFC 8265|control characters/.test(outcome))
          made.push(`${way}: ${name}: ${outcome}`)
      }
    assert.deepEqual(made, [])
    const named = await kit.db.acrossTenants((tx) =>
      sql<{ username: string }>`
        select username from users where username_key like 'break-glass%' or username like '%/%'`.execute(tx),
    )
    assert.deepEqual(named.rows, [])
  })

  await t.test('names are judged by one function, which only the deployment itself bypasses', () => {
    const root = join(import.meta.dirname, '../../src')
    const users = globSync('**/*.ts', { cwd: root }).filter((file) =>
      /\bcanonicalUsername\(/.test(readFileSync(join(root, file), 'utf8')),
    )
    assert.deepEqual(users.filter((file) => !file.endsWith('.test.ts')).sort(), [
      'modules/directory/scim/where.ts', // looks for a name
      'modules/identity/people/first-admin.ts', // the deployment's own users
      'modules/identity/people/new-username.ts', // the one judge
      'modules/identity/people/recovery.ts', // the emergency account
      'modules/identity/people/username.ts',
      'modules/identity/signin/login.ts', // looks for a name
    ])
  })

  await t.test('an existing account with a reserved name keeps it until it is renamed', async () => {
    const user_id = await makeUser(kit, 'break-glass', ['tenant_admin'])
    assert.equal(await local({ username: 'Break-Glass', display_name: 'Kept' }, user_id), 'made')
  })

  await t.test('SCIM: a deleted user keeps nothing, and the same id with another name is a new user', async () => {
    for (const [way, name] of [
      ['same', 'robin'],
      ['other', 'sam'],
    ] as const) {
      const given = { ...scimUser(name), externalId: `id-${way}` }
      const user_id = String((await scim.post('Users', given)).json.id)
      const had = await giveEveryAccess(kit, provider, user_id)
      assert.equal((await remainingAccess(kit, had)).links, 1)
      assert.equal((await scim.delete(`Users/${user_id}`)).status, 204)
      const back = await scim.post('Users', { ...given, ...(way === 'other' && { userName: 'mallory' }) })
      assert.equal(back.status, 201, back.text)
      const id = String(back.json.id)
      assert.equal(id === user_id, way === 'same', 'the id of the answer says which')
      assert.deepEqual((await scim.get(`Users/${id}`)).json.groups ?? [], [])
      if (way === 'same') assert.deepEqual(await remainingAccess(kit, had), noRemainingAccess)
      else {
        await assert.rejects(kit.admin.getUser({ params: { user_id } }), { status: 404 })
        const { roles, group_ids } = await kit.admin.getUser({ params: { user_id: id } })
        assert.deepEqual([roles, group_ids], [[], []])
        assert.deepEqual(await workingAccess(kit, had), noWorkingAccess)
      }
      const told = (await eventsOf(kit, 'user.changed')).filter((e) => e.user_id === id).map((e) => e.details)
      const isTold = told.some((d) => (way === 'same' ? d?.returned === true : d?.replaces === user_id))
      assert.ok(isTold, JSON.stringify(told))
    }
  })

  await t.test('snapshot and pull: a removed id that returns with another name is a new user', async () => {
    const named = async (name: string) =>
      (await kit.admin.listUsers({ query: { q: name, limit: 10 } })).items.find((u) => u.username === name)
    const keycloakId = keycloak.addUser('vera')
    const directories = {
      snapshot: (name: string | undefined) =>
        pushSnapshot(
          kit.admin,
          snapshotOf(name === undefined ? [others] : [others, { externalId: 'recycled', userName: name }]),
        ),
      pull: async (name: string | undefined) => {
        if (name === undefined) keycloak.users.delete(keycloakId)
        else keycloak.addUser(name, { id: keycloakId })
        return runPull(kit.admin, source.source_id)
      },
    }
    keycloak.addUser('pulled-anchor')
    for (const [kind, sync] of Object.entries(directories)) {
      const [first, second] = [`first-${kind}`, `second-${kind}`]
      await sync(first)
      const before = await named(first)
      assert.ok(before, kind)
      const had = await giveEveryAccess(kit, provider, before.user_id)
      await sync(undefined)
      assert.equal((await kit.admin.getUser({ params: { user_id: before.user_id } })).status, 'suspended')
      // An unreadable name can't be matched to the same person.
      await sync(`x/${second}`)
      assert.equal((await kit.admin.getUser({ params: { user_id: before.user_id } })).status, 'suspended', kind)
      await sync(second)
      const after = await named(second)
      assert.ok(after && after.user_id !== before.user_id, kind)
      assert.deepEqual([after.roles, after.group_ids], [[], []])
      await assert.rejects(kit.admin.getUser({ params: { user_id: before.user_id } }), { status: 404 })
      assert.deepEqual(await workingAccess(kit, had), noWorkingAccess)
    }
  })

  await t.test('a deleted user leaves nothing to a later user of the same name or provider account', async () => {
    const { browser } = await signIn('anna')
    assert.equal(await signedInAs(kit, browser.cookies.get('holdfast_session')), 'anna')
    const [anna] = (await kit.admin.listUsers({ query: { source: 'sso' } })).items
    assert.ok(anna)
    const had = await giveEveryAccess(kit, provider, anna.user_id)
    await kit.admin.changeUser({ body: { operation: 'delete', user_id: anna.user_id } })
    // The link stays but is refused: a user deleted by an administrator does not return by signing in.
    assert.equal((await signIn('anna')).answer.status, 401)
    assert.deepEqual(await reasons(1), ['oidc:not_admitted'])
    const { user: next } = await kit.admin.changeUser({ body: { operation: 'create', user: { username: 'anna' } } })
    assert.ok(next.user_id !== anna.user_id)
    assert.deepEqual([next.roles, next.group_ids], [[], []])
    assert.deepEqual(await workingAccess(kit, had), noWorkingAccess)
  })

  await t.test('recovery of a prepared emergency account ends everything that it has, and reports it', async () => {
    const { user_id } = (await kit.admin.listUsers({ query: { q: 'break-glass' } })).items[0]!
    const attacker = await signInAs(kit, 'break-glass')
    const begun = await attacker.post('/v1/admin/users/totp/enroll', { current_password: passwordOf('break-glass') })
    const code = createAuthenticator(begun.json.secret).code()
    assert.equal((await attacker.post('/v1/admin/users/totp/verify', { code })).status, 200)
    const had = await giveEveryAccess(kit, provider, user_id, { roles: false })
    await kit.admin.linkUserIdentity({
      params: { user_id },
      body: { provider_id: provider.provider_id, subject: 'login-a' },
    })
    const breakGlassPassword = 'found again in a drawer'
    const warned: string[] = []
    const recover = () =>
      bootstrap(
        kit.app,
        { adminPassword, breakGlassPassword },
        () => assert.fail(),
        (text) => warned.push(text),
      )
    await recover()
    const after = await remainingAccess(kit, had)
    assert.deepEqual([after.mfa, after.links, after.token, after.key], [false, 0, 'revoked', 401])
    assert.equal((await attacker.get('/v1/admin/me')).status, 401)
    assert.equal((await trySignIn(kit, 'break-glass')).status, 401)
    assert.equal((await signIn('login-a')).answer.status, 401)
    assert.equal((await trySignIn(kit, 'break-glass', { password: breakGlassPassword })).status, 200)
    const all = '1 second factors, 2 linked accounts, 1 api keys, 1 enrollment tokens, 1 sessions'
    assert.deepEqual(warned, [
      `HOLDFAST_BREAK_GLASS_PASSWORD set the password of the account break-glass. Its earlier credentials were revoked: ${all}.`,
    ])
    const [event] = await eventsOf(kit, 'user.password_changed')
    assert.deepEqual(event?.details?.ended, {
      second_factors: 1,
      linked_accounts: 2,
      api_keys: 1,
      enrollment_tokens: 1,
      sessions: 1,
    })
    assert.ok((await inbox(kit)).some((n) => n.detail.includes(all)))
    // The existing account is then the operator's own: the next start with the same password does not change it.
    const own = await giveEveryAccess(kit, provider, user_id, { roles: false })
    await recover()
    assert.deepEqual([(await remainingAccess(kit, own)).links, warned.length], [1, 1])
  })

  await t.test('recovery works although a directory account has the name', async () => {
    await kit.db.inTenant(kit.tenant, (tx) =>
      sql`update users set username = 'mine' where tenant_id = ${kit.tenant} and username = 'break-glass'`.execute(tx),
    )
    const [foreign] = (await kit.admin.listUsers({ query: { source: 'directory', status: 'active', limit: 1 } })).items
    assert.ok(foreign)
    await kit.db.inTenant(kit.tenant, (tx) =>
      sql`update users set username = 'break-glass' where tenant_id = ${kit.tenant}
        and user_id = ${decodeId('user', foreign.user_id)}`.execute(tx),
    )
    // A predictable name might be taken by an attacker to prevent the recovery.
    const id = decodeId('user', foreign.user_id) ?? ''
    assert.equal(await local({ username: `break-glass~${id.slice(-12)}` }), 'made')
    const warned: string[] = []
    const breakGlassPassword = 'another one from the drawer'
    await bootstrap(
      kit.app,
      { adminPassword, breakGlassPassword },
      () => assert.fail(),
      (text) => warned.push(text),
    )
    assert.match(warned.join(), /The account break-glass cannot have a password, so it was renamed to break-glass~/)
    assert.equal((await trySignIn(kit, 'break-glass', { password: breakGlassPassword })).status, 200)
    const { roles } = await kit.admin.getUser({ params: { user_id: foreign.user_id } })
    assert.deepEqual(roles, [], 'it is not raised')
  })
})
