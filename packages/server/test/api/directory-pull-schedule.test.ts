import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { changeDirectorySource } from '@holdfast/sdk'
import { createOutbound, type Outbound } from '../../src/outbound/outbound.ts'
import { makeUser } from '../support/actors/people.ts'
import { bearer, call, operation } from '../support/clients/api-calls.ts'
import { createClock, type Kit, loopbackAllowed, runJob, startKit } from '../support/deployment/deployment.ts'
import { deliveryLimitMs, until } from '../support/deployment/wait-until.ts'
import { inbox } from '../support/domain/notifications.ts'
import {
  activeDirectory,
  createSource,
  populateKeycloak,
  runPull,
  untilPullEnds,
} from '../support/providers/directory-pulls.ts'
import { startKeycloak } from '../support/providers/keycloak-directory.ts'

test('a cancelled pull', async (t) => {
  const usual = createOutbound(loopbackAllowed)
  const slowToLetGo: Outbound = {
    ...usual,
    request: (...given) => usual.request(...given).catch((e) => delay(500).then(() => Promise.reject(e))),
  }
  const kit = await startKit(t, { config: loopbackAllowed, outbound: slowToLetGo })
  await t.test('a run that is cancelled, or whose source is changed, applies nothing', () => cancelRun(kit))
  await t.test('a run requested while a cancelled one still ends is started afterwards', () => requestAgain(kit))
})

async function cancelRun(kit: Kit): Promise<void> {
  const { admin } = kit
  const keycloak = await startKeycloak(kit)
  populateKeycloak(keycloak)
  const { source_id } = await createSource(admin, keycloak)
  const params = { source_id }
  keycloak.meddle(({ url }) => (url.pathname.endsWith('/groups') ? 'hang' : undefined))
  const { run } = await admin.runDirectorySource({ params, body: {} })
  const cancel = { params: { run_id: run.run_id }, body: { reason: 'not now' } }
  const off = await admin.cancelDirectoryRun(cancel)
  assert.deepEqual(
    [off.changed, off.run.status, off.run.failure, (await admin.cancelDirectoryRun(cancel)).changed],
    [true, 'cancelled', 'not now', false],
  )
  const second = await admin.runDirectorySource({ params, body: {} })
  await changeDirectorySource(admin, { params }, { users: 'in_groups' })
  assert.equal((await untilPullEnds(admin, second.run.run_id)).status, 'cancelled')
  const third = await admin.runDirectorySource({ params, body: {} })
  assert.equal((await admin.deleteDirectorySource({ params })).changed, true)
  assert.equal((await untilPullEnds(admin, third.run.run_id)).status, 'cancelled')
  assert.equal((await admin.deleteDirectorySource({ params })).changed, false)
  assert.deepEqual(await activeDirectory(kit), { users: [], groups: {} })
  const late = await call(
    kit,
    { ...operation('cancelDirectoryRun'), path: `/v1/admin/directory-sync/runs/${third.run.run_id}/cancel` },
    bearer(kit.adminKey),
    {},
  )
  assert.equal(late.status, 200)
  keycloak.meddle()
  const anew = await createSource(admin, keycloak)
  assert.equal((await runPull(admin, anew.source_id)).status, 'applied')
  const done = await admin.listDirectoryRuns()
  const over = await call(
    kit,
    { ...operation('cancelDirectoryRun'), path: `/v1/admin/directory-sync/runs/${done.items[0]!.run_id}/cancel` },
    bearer(kit.adminKey),
    {},
  )
  await admin.deleteDirectorySource({ params: { source_id: anew.source_id } })
  assert.deepEqual([over.status, /this run is applied/.test(over.text)], [422, true])
}

async function requestAgain(kit: Kit): Promise<void> {
  const { admin } = kit
  const keycloak = await startKeycloak(kit)
  populateKeycloak(keycloak)
  const { source_id } = await createSource(admin, keycloak)
  const params = { source_id }
  keycloak.meddle(() => 'hang')
  const { run } = await admin.runDirectorySource({ params, body: {} })
  await until(() => keycloak.asked.length > 0)
  await admin.cancelDirectoryRun({ params: { run_id: run.run_id }, body: {} })
  keycloak.meddle()
  const next = await admin.runDirectorySource({ params, body: {} })
  assert.equal((await untilPullEnds(admin, next.run.run_id, deliveryLimitMs)).status, 'applied')
}

test('scheduled pulls are spread, back off on failure, and notify once at its start and end', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { config: loopbackAllowed, now: clock.now })
  const { admin } = kit
  const keycloak = await startKeycloak(kit)
  populateKeycloak(keycloak)
  await makeUser(kit, 'local')
  const { source_id, next_run_at } = await createSource(admin, keycloak, { enabled: true })
  const params = { source_id }
  const minutesTo = (time: string | null | undefined) => (Date.parse(time ?? '') - clock.now().getTime()) / 60_000
  assert.ok(minutesTo(next_run_at) <= 60 && minutesTo(next_run_at) > -1)
  const newest = async () => (await admin.listDirectoryRuns()).items[0]!
  /** Advances to the next scheduled run, and returns its result. */
  const nextOne = async () => {
    clock.advance(Math.max(0, minutesTo((await admin.getDirectorySource({ params })).next_run_at)) * 60 + 1)
    await runJob(kit.app, 'pull_directories')
    return untilPullEnds(admin, (await newest()).run_id)
  }
  const first = await nextOne()
  assert.equal(first.status, 'applied', JSON.stringify(first))
  await runJob(kit.app, 'pull_directories')
  assert.equal((await newest()).run_id, first.run_id, 'not before its time')
  const [event] = (await admin.listAuditEvents({ query: { kind: 'directory.synced' } })).items
  assert.deepEqual([event?.actor.type, event?.actor.id], ['job', 'pull_directories'])

  keycloak.meddle(({ url }) =>
    url.pathname.endsWith('/token') ? { status: 401, json: { error: 'invalid_client' } } : undefined,
  )
  const waits: number[] = []
  for (let n = 0; n < 3; n++) {
    const failed = await nextOne()
    assert.deepEqual(
      [failed.status, failed.failure],
      ['failed', 'The directory issued no token for the client id and its credential (invalid_client): check both.'],
    )
    waits.push(minutesTo((await admin.getDirectorySource({ params })).next_run_at))
  }
  for (const [n, wait] of waits.entries()) {
    const about = 60 * 2 ** (n + 1)
    assert.ok(wait > about * 0.89 && wait < about * 1.11, `${wait} minutes after ${n + 1} failures`)
  }
  assert.equal((await admin.getDirectorySource({ params })).failures, 3)
  assert.deepEqual(
    (await inbox(kit)).map((n) => [n.kind, n.subject.name]),
    [['directory.failing', 'corp']],
  )
  assert.deepEqual((await activeDirectory(kit)).users, ['ada', 'ben', 'cleo', 'eva'])

  keycloak.meddle()
  assert.equal((await nextOne()).status, 'unchanged')
  const source = await admin.getDirectorySource({ params })
  assert.deepEqual([source.failures, source.failing_since], [0, null])
  assert.deepEqual((await inbox(kit)).map((n) => n.kind).sort(), ['directory.failing', 'directory.recovered'])

  // A held run is notified only once, however often the schedule repeats it.
  keycloak.addUsers(20)
  await nextOne()
  keycloak.users.clear()
  for (let n = 0; n < 2; n++) assert.equal((await nextOne()).status, 'held')
  const held = (await inbox(kit)).filter((n) => n.kind === 'directory.held')
  assert.equal(held.length, 1)
  assert.match(held[0]!.detail, /24 of 24 active users would be suspended/)
  await changeDirectorySource(admin, { params }, { enabled: false })
  assert.equal((await admin.getDirectorySource({ params })).next_run_at, null)
  clock.advance(86_400)
  const { run_id } = await newest()
  await runJob(kit.app, 'pull_directories')
  assert.equal((await newest()).run_id, run_id)
})

test('a tenant has at most fifty sources, also with concurrent creation', async (t) => {
  const kit = await startKit(t, { config: loopbackAllowed, replicas: 2 })
  const clients = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
  const nowhere = { issuer: 'http://127.0.0.1:9009/realms/people' }
  const make = (n: number) => createSource(clients[n % 2]!, nowhere, { provider: `corp-${n}` })
  for (let n = 0; n < 40; n++) await make(n)
  const made = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => make(40 + n)))
  const refused = made.flatMap((m) => (m.status === 'rejected' ? [m.reason] : []))
  assert.equal(refused.length, 10)
  for (const { status, message } of refused) {
    assert.equal(status, 422)
    assert.match(message, /the tenant has 50 directory sources, which is the maximum/)
  }
  const { items } = await kit.admin.listDirectorySources({ query: { limit: 200 } })
  assert.equal(items.length, 50)
  await kit.admin.deleteDirectorySource({ params: { source_id: items[0]!.source_id } })
  await make(99)
})
