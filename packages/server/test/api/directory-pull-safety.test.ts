import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { changeDirectorySource } from '@holdfast/sdk'
import { sql } from 'kysely'
import pg from 'pg'
import { decodeId } from '../../src/kernel/ids.ts'
import { dueSources } from '../../src/modules/directory/pull/sources.queries.ts'
import { createScimDirectory, createScimUsers } from '../support/clients/scim-client.ts'
import {
  createClock,
  type Kit,
  loopbackAllowed,
  type Replica,
  runJob,
  startKit,
} from '../support/deployment/deployment.ts'
import { createSource, runPull, untilPullEnds } from '../support/providers/directory-pulls.ts'
import { directoryUsers, pushSnapshot, snapshotOf } from '../support/providers/directory-snapshots.ts'
import { keycloakClient, startKeycloak } from '../support/providers/keycloak-directory.ts'
import { startOkta } from '../support/providers/okta-directory.ts'

/** Waits until a condition holds, for up to 20 s. */
async function until(what: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 20_000; !(await what()); await delay(10))
    assert.ok(performance.now() < end, String(what))
}
const pagesOf = async (kit: Kit, source_id: string): Promise<number> => {
  const { rows } = await kit.db.inTenant(kit.tenant, (tx) =>
    sql<{ n: number }>`select count(*) as n from directory_pages
      where tenant_id = ${kit.tenant} and source_id = ${decodeId('directory_source', source_id)}`.execute(tx),
  )
  return rows[0]!.n
}
/** Holds rows in a transaction outside of the deployment until it is released. */
async function holding(kit: Kit, statement: string) {
  const client = new pg.Client({ connectionString: kit.databaseUrl })
  await client.connect()
  await client.query('begin')
  const { rowCount } = await client.query(statement)
  assert.ok(rowCount, statement)
  return async () => {
    await client.query('rollback')
    await client.end()
  }
}

test('a credential is sent only to the issuer for which it was set', async (t) => {
  const kit = await startKit(t, { config: loopbackAllowed })
  const { admin } = kit
  const [keycloak, another] = [await startKeycloak(kit), await startKeycloak(kit)]
  keycloak.addUsers(1)
  const { source_id } = await createSource(admin, keycloak)
  const params = { source_id }
  const { issuer } = another
  await assert.rejects(changeDirectorySource(admin, { params }, { issuer }), { status: 422, message: /credential/ })
  assert.equal((await admin.getDirectorySource({ params })).issuer, keycloak.issuer)
  assert.equal((await admin.testDirectorySource({ params })).ok, true)
  assert.deepEqual(another.asked, [])
  // A caller who gives the credential may move the source; without a credential there is nothing to protect.
  await changeDirectorySource(admin, { params }, { issuer, credential: 'another secret' })
  assert.match((await admin.testDirectorySource({ params })).problem ?? '', /unauthorized_client/)
  const moved = await changeDirectorySource(admin, { params }, { issuer: keycloak.issuer, credential: null })
  assert.deepEqual([moved.credential_set, moved.issuer], [false, keycloak.issuer])
  const back = await changeDirectorySource(admin, { params }, { issuer })
  assert.deepEqual([back.credential_set, back.issuer], [false, issuer])
})

test('an endless pull, and one without a credential, end; a long one continues in turns', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { config: loopbackAllowed, replicas: 2, now: clock.now })
  const { admin } = kit
  const [, other] = kit.replicas as [Replica, Replica]

  // The turn of the pull ends after the second page, and the next turn continues.
  const keycloak = await startKeycloak(kit)
  keycloak.addUsers(201)
  const slow = await createSource(admin, keycloak, { provider: 'slow', groups: { take: 'none', names: [] } })
  let isFirst = true
  keycloak.meddle(({ url }) => {
    if (isFirst && url.searchParams.get('first') === '99') {
      isFirst = false
      clock.advance(121)
    }
    return undefined
  })
  const done = await runPull(admin, slow.source_id)
  assert.deepEqual([done.status, done.counts.users.created], ['applied', 201])
  const lists = keycloak.asked.filter((line) => line.includes('/users?'))
  assert.equal(lists.length, new Set(lists).size, 'nothing is read twice')
  assert.equal(keycloak.asked.filter((line) => line.startsWith('POST')).length, 2)
  assert.equal(await pagesOf(kit, slow.source_id), 0)

  // The pages stored for a run are deleted if it is cancelled.
  const cancel = async (hangs: RegExp) => {
    isFirst = true
    keycloak.meddle(({ url }) => {
      if (isFirst && url.searchParams.get('first') === '99') clock.advance(121)
      if (url.searchParams.get('first') === '99') isFirst = false
      return hangs.test(url.search) ? 'hang' : undefined
    })
    const { run } = await admin.runDirectorySource({ params: { source_id: slow.source_id }, body: {} })
    await until(async () => (await pagesOf(kit, slow.source_id)) > 0)
    return run.run_id
  }
  const params = { source_id: slow.source_id }
  const first = await cancel(/first=199/)
  await admin.cancelDirectoryRun({ params: { run_id: first }, body: {} })
  assert.equal(await pagesOf(kit, slow.source_id), 0)
  const second = await cancel(/first=199/)
  await changeDirectorySource(admin, { params }, { groups: { take: 'listed', names: ['/a'] } })
  assert.deepEqual([(await untilPullEnds(admin, second)).status, await pagesOf(kit, slow.source_id)], ['cancelled', 0])

  // The credential is removed, and the replica that has it in memory ends.
  const third = await cancel(/first=199/)
  await changeDirectorySource(admin, { params }, { credential: null })
  clock.advance(121)
  await runJob(other.app, 'pull_directories')
  const without = await untilPullEnds(admin, third)
  assert.deepEqual([without.status, without.failure], ['failed', 'The source has no credential.'])
  keycloak.meddle()

  const okta = await startOkta(kit)
  const { source_id } = await admin.createDirectorySource({
    body: { provider: 'endless', kind: 'okta', issuer: okta.origin, client_id: okta.clientId, credential: okta.jwk },
  })
  let n = 0
  okta.meddle(({ url }) => {
    if (url.pathname !== '/api/v1/users') return undefined
    if (n++ === 5) clock.advance(6 * 3600)
    return { json: [], headers: { link: `<${okta.origin}/api/v1/users?after=${n}>; rel="next"` } }
  })
  const endless = await runPull(admin, source_id)
  assert.deepEqual([endless.status, endless.failure], ['failed', 'The pull did not finish within six hours.'])
  const logged = kit.logs.filter((line) => line.includes('background task failed'))
  assert.deepEqual(logged, [])
})

test('a late result applies nothing: after a cancellation, another replica or a snapshot', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { config: loopbackAllowed, replicas: 2, now: clock.now })
  const { admin } = kit
  const [here, other] = kit.replicas as [Replica, Replica]
  const client = kit.clientFor(kit.adminKey, here)
  const keycloak = await startKeycloak(kit)
  keycloak.addUsers(10)
  const { source_id } = await createSource(admin, keycloak)
  const params = { source_id }
  assert.equal((await runPull(client, source_id)).status, 'applied')
  const events = async () => (await admin.listAuditEvents({ query: { kind: 'directory.synced' } })).items.length
  const usersOf = async () => (await admin.listUsers({ query: { source: 'directory', limit: 200 } })).items
  const applying = async (run_id: string) => {
    const { progress } = await admin.getDirectoryRun({ params: { run_id } })
    return progress?.phase === 'applying'
  }

  // Cancelled in the middle of its writes, while it waits for a user's row.
  for (const user of keycloak.users.values()) user.firstName = 'Late'
  const [one] = await usersOf()
  const free = await holding(
    kit,
    `select from users where user_id = '${decodeId('user', one!.user_id)}' for no key update`,
  )
  const cancelled = await client.runDirectorySource({ params, body: {} })
  await until(() => applying(cancelled.run.run_id))
  await delay(100)
  const { changed } = await admin.cancelDirectoryRun({ params: { run_id: cancelled.run.run_id }, body: {} })
  await free()
  assert.equal(changed, true)
  await delay(200)
  assert.equal((await untilPullEnds(admin, cancelled.run.run_id)).status, 'cancelled')
  assert.deepEqual([await events(), (await usersOf()).some((u) => /Late/.test(u.display_name))], [1, false])

  // Another replica takes over the run while it waits for the source; all but its end has been written.
  let release = Promise.withResolvers<void>()
  keycloak.meddle(async ({ url }) => {
    if (url.pathname.endsWith('/groups/count')) await release.promise
    return undefined
  })
  const late = await client.runDirectorySource({ params, body: {} })
  await until(() => keycloak.asked.at(-1)?.includes('/groups/count') ?? false)
  const letGo = await holding(
    kit,
    `select from directory_sources where source_id = '${decodeId('directory_source', source_id)}' for no key update`,
  )
  release.resolve()
  await until(() => applying(late.run.run_id))
  await delay(100)
  const claimed = async () => {
    const { rows } = await kit.db.inTenant(kit.tenant, (tx) =>
      sql<{ claimed_by: string }>`select claimed_by from directory_pulls where tenant_id = ${kit.tenant}`.execute(tx),
    )
    return rows[0]?.claimed_by
  }
  const before = await claimed()
  clock.advance(8 * 60)
  await runJob(other.app, 'pull_directories')
  await until(async () => (await claimed()) !== before)
  await letGo()
  const taken = await untilPullEnds(admin, late.run.run_id, 60_000)
  assert.deepEqual([taken.status, taken.counts.users.updated, await events()], ['applied', 10, 2])
  assert.ok((await usersOf()).every((u) => /Late/.test(u.display_name)))

  // A snapshot is sent under the id of the run: the run then has no result.
  release = Promise.withResolvers<void>()
  const interrupted = await client.runDirectorySource({ params, body: {} })
  await until(() => keycloak.asked.at(-1)?.includes('/groups/count') ?? false)
  const { run_id, started_at } = interrupted.run
  const taking = await pushSnapshot(
    admin,
    snapshotOf(directoryUsers(3), [], { snapshot_id: run_id, generated_at: started_at, confirm_mass_change: true }),
  )
  assert.equal(taking.status, 'applied')
  release.resolve()
  const failed = await untilPullEnds(admin, run_id)
  assert.deepEqual([failed.status, failed.failure], ['failed', 'Another run with the same id was applied meanwhile.'])
})

test('a directory provisioned by SCIM cannot be pulled too', async (t) => {
  const kit = await startKit(t, { config: loopbackAllowed })
  const { admin, tenant } = kit
  const keycloak = await startKeycloak(kit)
  keycloak.addUsers(1)
  const { scim } = await createScimDirectory(kit)
  await createScimUsers(scim, ['jane'])
  const refused = { status: 422, message: /already updated by SCIM/ }
  await assert.rejects(createSource(admin, keycloak, { provider: 'Entra' }), refused)
  const { source_id } = await createSource(admin, keycloak)
  await kit.db.inTenant(tenant, (tx) =>
    sql`update directories set source = 'scim' where tenant_id = ${tenant} and provider = 'corp'`.execute(tx),
  )
  for (const dry_run of [false, true]) {
    const { status, failure } = await runPull(admin, source_id, { dry_run })
    assert.equal(status, 'failed')
    assert.match(failure ?? '', refused.message)
  }
  assert.deepEqual(
    (await admin.listUsers({ query: { source: 'directory' } })).items.map((u) => u.username),
    ['jane'],
  )
})

test('a pull under way does not count as due, and the runs of a tenant are limited', async (t) => {
  const kit = await startKit(t, { config: loopbackAllowed })
  const { admin, tenant } = kit
  const keycloak = await startKeycloak(kit)
  keycloak.addUsers(1)
  const [one, two] = [
    await createSource(admin, keycloak, { provider: 'one', enabled: true }),
    await createSource(admin, keycloak, { provider: 'two', enabled: true }),
  ]
  keycloak.meddle(() => 'hang')
  const { run } = await admin.runDirectorySource({ params: { source_id: one.source_id }, body: {} })
  const id = (source: typeof one) => decodeId('directory_source', source.source_id)
  const due = await kit.db.acrossTenants(async (tx) => {
    await sql`update directory_sources set next_run_at = now() - case when source_id = ${id(one)} then interval '2 days'
      else interval '1 day' end where tenant_id = ${tenant}`.execute(tx)
    return dueSources(tx, new Date(), 1)
  })
  assert.deepEqual(
    due.map((d) => d.source_id),
    [id(two)],
  )
  await admin.cancelDirectoryRun({ params: { run_id: run.run_id }, body: {} })
  const { next_run_at } = await admin.getDirectorySource({ params: { source_id: one.source_id } })
  assert.ok(Date.parse(next_run_at ?? '') > Date.now(), 'a cancelled run is not due at once')

  keycloak.meddle()
  await kit.db.inTenant(tenant, (tx) =>
    sql`insert into directory_pages (tenant_id, source_id, page, content)
      select ${tenant}, ${id(one)}, n, repeat('x', 64 * 1024 * 1024) from generate_series(1, 4) as n`.execute(tx),
  )
  const full = await runPull(admin, two.source_id)
  assert.deepEqual([full.status, full.failure], ['failed', 'All running pulls together exceed the memory limit.'])
  await kit.db.inTenant(tenant, (tx) =>
    sql`delete from directory_pages where tenant_id = ${tenant} and source_id = ${id(one)}`.execute(tx),
  )
  assert.equal((await runPull(admin, two.source_id)).status, 'applied')
  assert.ok(!JSON.stringify(kit.logs).includes(keycloakClient.secret))
})
