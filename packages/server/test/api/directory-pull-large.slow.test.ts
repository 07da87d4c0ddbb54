import assert from 'node:assert/strict'
import { once } from 'node:events'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { sql } from 'kysely'
import { encodeId } from '../../src/kernel/ids.ts'
import { everything } from '../../src/replication/changes.ts'
import { call, enrollRaw, operation, type Raw } from '../support/actors/all-callers.ts'
import { type Kit, type Replica, startKit } from '../support/deployment/deployment.ts'
import { config, settled, sourceOf } from '../support/providers/directory-pulls.ts'
import type { Change, Made, Wanted } from '../support/providers/keycloak-directory-worker.ts'

const users = Number(process.env.HOLDFAST_DIRECTORY_USERS ?? 20_000)
const wanted: Wanted = { users, groups: Math.ceil(users / 25), perUser: 6 }
const minutes = 60_000

/** Inserts devices of directory users, as a tenant of this size has; they send no requests. */
const fillFleet = (kit: Kit) =>
  kit.db.acrossTenants(async (tx) => {
    await sql`insert into devices (tenant_id, device_id, user_id, name, platform, tags, group_ids, status, jkt,
        address_number, credential_expires_at, credential_renew_after, enrolled_method, token_id, enrolled_at)
      select u.tenant_id, gen_random_uuid(), u.user_id, 'laptop', 'linux', '{}', '{}', 'active', 'jkt' || u.user_id,
        1000 + row_number() over (), now() + interval '1 day', now() + interval '1 day', 'token', d.token_id, now()
      from users u, (select token_id from devices where tenant_id = ${kit.tenant} limit 1) d
      where u.tenant_id = ${kit.tenant} and u.source = 'directory'`.execute(tx)
  })

test(`a directory of ${users} users: read, applied, and who is out is out on another replica`, async (t) => {
  const kit = await startKit(t, { config, replicas: 2 })
  const { admin } = kit
  const [here, there] = kit.replicas as [Replica, Replica]
  const client = kit.clientFor(kit.adminKey, here)
  const worker = new Worker(new URL('../support/providers/keycloak-directory-worker.ts', import.meta.url), {
    workerData: wanted,
  })
  kit.after(() => worker.terminate())
  const [{ issuer, ids }] = (await once(worker, 'message')) as [Made]
  const change = async (what: Change) => {
    worker.postMessage(what)
    await once(worker, 'message')
  }
  const { source_id } = await sourceOf(admin, { issuer })

  const pulled = async (what: string, body: { confirm_mass_change?: boolean } = {}) => {
    const turns = monitorEventLoopDelay({ resolution: 5 })
    turns.enable()
    const cpu = process.threadCpuUsage()
    const started = performance.now()
    let read = 0
    let peak = 0
    const { run } = await client.runDirectorySource({ params: { source_id }, body })
    for (;;) {
      const { status, progress } = await admin.getDirectoryRun({ params: { run_id: run.run_id } })
      peak = Math.max(peak, process.memoryUsage().heapUsed)
      if (progress?.phase === 'applying' && read === 0) read = performance.now() - started
      if (status !== 'fetching') break
      await delay(20)
    }
    const over = performance.now()
    const { user, system } = process.threadCpuUsage(cpu)
    turns.disable()
    const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
    const megabytes = (bytes: number) => `${Math.round(bytes / 1e6)} MB`
    t.diagnostic(
      `${what}: read in ${seconds(read)}, applied in ${seconds(over - started - read)}, ${seconds((user + system) / 1000)} of CPU, ` +
        `longest turn ${Math.round(turns.max / 1e6)} ms, heap ${megabytes(peak)}, resident ${megabytes(process.memoryUsage().rss)}`,
    )
    return { ...(await settled(admin, run.run_id, 10 * minutes)), over }
  }

  const first = await pulled('everybody comes')
  assert.deepEqual(
    [first.status, first.counts.users.created, first.counts.memberships.added, first.problem_count],
    ['applied', users, users * wanted.perUser, 0],
    first.failure ?? '',
  )
  assert.equal((await pulled('the same again')).status, 'unchanged')

  // Two users have devices that poll the other replica.
  await admin.publishPolicy({ body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules: [] } } })
  const onThere = { publicUrl: kit.publicUrl, dispatcher: there.dispatcher }
  const enroll = async (n: number) => {
    const { rows } = await kit.db.inTenant(kit.tenant, (tx) =>
      sql<{ user_id: string }>`select user_id from users
        where tenant_id = ${kit.tenant} and external_id = ${ids[n]}`.execute(tx),
    )
    const { secret } = await admin.generateToken({ body: { user_id: encodeId('user', rows[0]!.user_id) } })
    const device = await enrollRaw(onThere, secret)
    return () => call(onThere, operation('policyDigest'), device.caller)
  }
  const [out, stays] = [await enroll(users - 1), await enroll(users - 2)]
  await fillFleet(kit)
  for (const poll of [out, stays]) assert.equal((await poll()).status, 200)

  await change({ renamed: Math.ceil(users / 3), disabled: [users - 1] })
  let isOver = false
  const answers: { at: number; took: number; status: Raw['status'] }[] = []
  const asking = (async () => {
    while (!isOver) {
      const at = performance.now()
      const { status } = await out()
      answers.push({ at, took: performance.now() - at, status })
      if (status === 401) break
      await delay(10)
    }
  })()
  const changed = await pulled('a third of them changes, one of them is disabled')
  assert.deepEqual(
    [changed.status, changed.counts.users.suspended, changed.counts.users.updated],
    ['applied', 1, Math.ceil(users / 3)],
  )
  const late = setTimeout(() => (isOver = true), 20_000)
  await asking
  clearTimeout(late)
  const last = answers.at(-1)!
  assert.equal(last.status, 401)
  const served = answers.findLast((a) => a.status === 200)!
  t.diagnostic(
    `out: last served ${Math.round(served.at + served.took - changed.over)} ms, refused ${Math.round(last.at + last.took - changed.over)} ms after the run was seen as applied; ` +
      `the longest answer took ${Math.round(Math.max(...answers.map((a) => a.took)))} ms`,
  )
  assert.ok(served.at + served.took - changed.over < 1000, 'within a second')
  assert.equal((await stays()).status, 200)
  const { rows } = await kit.db.inTenant(kit.tenant, (tx) =>
    sql<{ n: number }>`select count(*) as n from changes
      where tenant_id = ${kit.tenant} and kind = 'user' and subject = ${everything}`.execute(tx),
  )
  assert.equal(rows[0]?.n, 1, 'told as a change of every user')
})
