import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { changeDirectorySource } from '@holdfast/sdk'
import { sql } from 'kysely'
import { decodeId } from '../../src/kernel/ids.ts'
import { enrollRaw } from '../support/actors/devices.ts'
import { makeUser, signInAs, untilStatus } from '../support/actors/people.ts'
import { bearer, call, operation } from '../support/clients/api-calls.ts'
import { createClock, loopbackAllowed, runJob, startKit, times } from '../support/deployment/deployment.ts'
import {
  activeDirectory,
  createSource,
  populateKeycloak,
  runPull,
  untilPullEnds,
} from '../support/providers/directory-pulls.ts'
import { keycloakClient, startKeycloak } from '../support/providers/keycloak-directory.ts'

test('Keycloak: users, nested groups by path, disabled and deleted users are followed', async (t) => {
  const kit = await startKit(t, { config: loopbackAllowed })
  const { admin } = kit
  const keycloak = await startKeycloak(kit)
  const { ada, eva } = populateKeycloak(keycloak)
  const source = await createSource(admin, keycloak)
  assert.deepEqual(
    [source.enabled, source.credential_set, source.next_run_at, source.interval_minutes, source.groups],
    [false, true, null, 60, { take: 'all', names: [] }],
  )
  const params = { source_id: source.source_id }
  assert.deepEqual(await admin.testDirectorySource({ params }), {
    ok: true,
    problem: null,
    found: { users: 5, groups: 4, some_users: ['ada', 'ben', 'cleo', 'dan', 'eva'] },
  })

  const dry = await runPull(admin, source.source_id, { dry_run: true })
  assert.deepEqual([dry.status, dry.counts.users.created, dry.counts.groups.created], ['dry_run', 4, 4])
  assert.deepEqual(await activeDirectory(kit), { users: [], groups: {} })

  const { run, begun } = await admin.runIdpSync({ body: {} })
  assert.deepEqual([run.status, run.finished_at, run.source_id, begun], ['fetching', null, source.source_id, true])
  const first = await untilPullEnds(admin, run.run_id)
  assert.equal(first.status, 'applied', JSON.stringify(first))
  assert.deepEqual(first.progress, {
    phase: 'applying',
    users: { read: 5, of: 5 },
    groups: { read: 4, of: 4 },
    memberships: 7,
    requests: first.progress?.requests,
    retries: 0,
  })
  assert.deepEqual(await activeDirectory(kit), {
    users: ['ada', 'ben', 'cleo', 'eva'],
    groups: {
      '/engineering': ['ada', 'ben'],
      '/engineering/backend': ['ben'],
      '/engineering/backend/on call': ['cleo'],
      '/sales': ['eva'],
    },
  })
  const [made] = (await admin.listUsers({ query: { q: 'ada' } })).items
  assert.deepEqual([made?.external_id, made?.email, made?.display_name], [ada, 'ada@example.com', 'Ada Person'])
  const again = await untilPullEnds(admin, (await admin.runKeycloakSync({ body: {} })).run.run_id)
  assert.equal(again.status, 'unchanged')

  keycloak.users.get(ada)!.enabled = false
  keycloak.users.delete(eva)
  keycloak.addUser('finn')
  const next = await runPull(admin, source.source_id)
  assert.deepEqual(
    [next.status, next.counts.users, next.counts.memberships],
    ['applied', { created: 1, updated: 0, suspended: 2, reactivated: 0, unchanged: 2 }, { added: 0, removed: 1 }],
  )
  assert.deepEqual((await activeDirectory(kit)).users, ['ben', 'cleo', 'finn'])

  // Reads only the wanted entries: the listed groups, and the users in them.
  await changeDirectorySource(
    admin,
    { params },
    { users: 'in_groups', groups: { take: 'listed', names: ['/engineering/*'] } },
  )
  const some = await runPull(admin, source.source_id, { confirm_mass_change: true })
  assert.equal(some.status, 'applied')
  assert.deepEqual((await activeDirectory(kit)).users, ['ben', 'cleo'])

  const { items } = await admin.listAuditEvents({ query: { limit: 200 } })
  const started = items.filter((e) => e.kind === 'directory.pull_started')
  assert.equal(started.length, 5)
  const synced = items.filter((e) => e.kind === 'directory.synced')
  assert.ok(
    synced.every((e) => e.actor.type === 'api_key'),
    'changes of a pull are of whoever asked for it',
  )
  const texts = JSON.stringify([items, kit.logs, await admin.getDirectorySource({ params })])
  for (const secret of [keycloakClient.secret, ...keycloak.tokens]) assert.ok(!texts.includes(secret))
})

test('twenty concurrent requests on two replicas start one run', async (t) => {
  const kit = await startKit(t, { config: loopbackAllowed, replicas: 2 })
  const keycloak = await startKeycloak(kit)
  populateKeycloak(keycloak)
  const clients = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
  const { source_id } = await createSource(kit.admin, keycloak)
  // The directory answers once all requests have been sent.
  const released = Promise.withResolvers<undefined>()
  keycloak.meddle(() => released.promise)
  const asked = await times(20, (i) => clients[i % 2]!.runDirectorySource({ params: { source_id }, body: {} }))
  released.resolve(undefined)
  assert.deepEqual([new Set(asked.map((a) => a.run.run_id)).size, asked.filter((a) => a.begun).length], [1, 1])
  assert.equal((await untilPullEnds(kit.admin, asked[0]!.run.run_id)).status, 'applied')
  assert.equal(keycloak.asked.filter((line) => line.startsWith('POST')).length, 1, 'one of them signed in')
  assert.equal((await kit.admin.listDirectoryRuns()).items.length, 1)

  // A user who is disabled in the directory loses device and session here, on the other replica too.
  const user_id = await makeUser(kit, 'signed-in', ['viewer'])
  const session = await signInAs(kit, 'signed-in')
  const external = keycloak.addUser('signed-in')
  await kit.db.inTenant(kit.tenant, (tx) =>
    sql`update users set source = 'directory', password_phc = null, external_id = ${external},
      directory_id = (select directory_id from directories where tenant_id = ${kit.tenant})
      where tenant_id = ${kit.tenant} and user_id = ${decodeId('user', user_id)}`.execute(tx),
  )
  await kit.admin.publishPolicy({ body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules: [] } } })
  const { secret } = await kit.admin.generateToken({ body: { max_uses: 0, user_id } })
  const there = { publicUrl: kit.publicUrl, dispatcher: kit.replicas[1]!.dispatcher }
  const device = await enrollRaw(there, secret)
  const poll = () => call(there, operation('policyDigest'), device.caller)
  assert.deepEqual([(await poll()).status, (await session.get('/v1/admin/me', kit.replicas[1])).status], [200, 200])
  keycloak.users.get(external)!.enabled = false
  const out = await runPull(kit.admin, source_id)
  const applied = performance.now()
  assert.deepEqual([out.status, out.counts.users.suspended], ['applied', 1])
  await untilStatus(poll, 401)
  await untilStatus(() => session.get('/v1/admin/me', kit.replicas[1]), 401)
  t.diagnostic(`out after ${Math.round(performance.now() - applied)} ms`)

  const made = await times(20, (i) =>
    call(kit, operation('createDirectorySource'), bearer(kit.adminKey), {
      provider: i % 2 ? 'Other' : 'other',
      kind: 'keycloak',
      issuer: keycloak.issuer,
      client_id: 'x',
    }),
  )
  assert.deepEqual(made.map((a) => a.status).sort(), [201, ...Array(19).fill(422)])
  const ambiguous = await call(kit, operation('runKeycloakSync'), bearer(kit.adminKey), {})
  assert.deepEqual([ambiguous.status, /several directory sources/.test(ambiguous.text)], [422, true])
})

test('a pull of a replica that dies is continued by another from the last saved page', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { config: loopbackAllowed, replicas: 2, now: clock.now })
  const keycloak = await startKeycloak(kit)
  const people = keycloak.addUsers(250)
  keycloak.addGroup('/all', people)
  const { source_id } = await createSource(kit.admin, keycloak)
  const [dies, goesOn] = kit.replicas
  // The pull stops at the groups. The last page of users takes over a second, so that all users are stored by then.
  const client = kit.clientFor(kit.adminKey, dies)
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const atMembers = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  let waits = true
  keycloak.meddle(async ({ url }) => {
    if (url.searchParams.get('first') === '199' && url.pathname.endsWith('/users')) await delay(1100)
    if (url.pathname.endsWith('/members')) {
      atMembers.resolve()
      await goOn.promise
    }
    if (!url.pathname.endsWith('/groups') || !waits) return undefined
    waits = false
    reached.resolve()
    await released.promise
    return undefined
  })
  const { run } = await client.runDirectorySource({ params: { source_id }, body: {} })
  await reached.promise
  const before = await kit.admin.getDirectoryRun({ params: { run_id: run.run_id } })
  assert.deepEqual([before.status, before.progress?.users], ['fetching', { read: 250, of: 250 }])
  await runJob(goesOn!.app, 'pull_directories')
  assert.equal(keycloak.asked.filter((l) => l.startsWith('POST')).length, 1, 'while it speaks nobody takes it over')

  clock.advance(121)
  const asked = keycloak.asked.length
  await runJob(goesOn!.app, 'pull_directories')
  await atMembers.promise
  // The replica with the late page has lost its claim: it writes nothing and sends no more requests.
  released.resolve()
  await delay(500)
  assert.equal(keycloak.asked.filter((line) => line.includes('/members')).length, 1)
  goOn.resolve()
  const done = await untilPullEnds(kit.admin, run.run_id)
  assert.deepEqual([done.status, done.counts.users.created, done.counts.memberships.added], ['applied', 250, 250])
  const rest = keycloak.asked.slice(asked)
  assert.deepEqual(
    rest.filter((line) => line.includes('/users?')),
    [],
    'users are not read again',
  )
  assert.equal((await runPull(kit.admin, source_id)).status, 'unchanged')
  const events = await kit.admin.listAuditEvents({ query: { kind: 'directory.synced' } })
  assert.equal(events.items.length, 2)

  // A stop releases the claim at once.
  keycloak.meddle(({ url }) => (url.pathname.endsWith('/members') ? 'hang' : undefined))
  const second = await client.runDirectorySource({ params: { source_id }, body: {} })
  while (!keycloak.asked.at(-1)?.includes('/members')) await delay(20)
  kit.replicas.splice(0, 1)
  await dies!.app.stop()
  await dies!.dispatcher.destroy()
  keycloak.meddle()
  await runJob(goesOn!.app, 'pull_directories')
  const over = await untilPullEnds(kit.clientFor(kit.adminKey, goesOn), second.run.run_id)
  assert.equal(over.status, 'unchanged')
})
