import assert from 'node:assert/strict'
import { test } from 'node:test'
import { many, provision, pushed } from '../support/clients/scim-client.ts'
import { createClock, startKit, times } from '../support/deployment/deployment.ts'
import { group, people, person, push, snapshotOf, userOf } from '../support/providers/directory-snapshots.ts'

test('a run that is held is let go or confirmed, by one of all who decide at once, on two replicas', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { admin } = kit
  const clients = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
  const all = people(60)
  const groups = [group('large', all.slice(0, 10))]
  await push(admin, snapshotOf(all, groups))
  for (let round = 0; round < 2; round++) {
    const held = await push(admin, snapshotOf(all.slice(30 + round), groups))
    assert.equal(held.status, 'held')
    const params = { run_id: held.run_id }
    const decided = await times(20, async (i) => {
      const client = clients[i % 2]!
      if (i % 4 < 2) return (await client.cancelDirectoryRun({ params, body: {} }).catch(() => undefined))?.changed
      return (await client.confirmDirectoryRun({ params, body: {} }).catch(() => undefined))?.status
    })
    const { status, confirmed_at } = await admin.getDirectoryRun({ params })
    const isConfirmed = decided.includes('applied')
    assert.deepEqual(
      [status, confirmed_at !== null, decided.filter((d) => d === true).length],
      isConfirmed ? ['applied', true, 0] : ['cancelled', false, 1],
    )
    assert.equal((await userOf(kit, person(0)))?.status, isConfirmed ? 'suspended' : 'active')
    await push(admin, snapshotOf(all, groups))
  }
})

test('what was let go is never applied, is on record, and the same snapshot answers what became of it', async (t) => {
  const kit = await startKit(t)
  const { admin } = kit
  const all = people(60)
  await push(admin, snapshotOf(all))
  const mistake = snapshotOf(all.slice(30))
  const held = await push(admin, mistake)
  const params = { run_id: held.run_id }
  const cancel = (reason?: string) => admin.cancelDirectoryRun({ params, body: reason ? { reason } : {} })
  const { run, changed } = await cancel('a broken export')
  assert.deepEqual([run.status, run.failure, changed], ['cancelled', 'a broken export', true])
  assert.equal((await cancel()).changed, false)
  const [event] = (await admin.listAuditEvents({ query: { kind: 'directory.synced', limit: 1 } })).items
  assert.deepEqual([event?.target?.id, event?.details?.reason], [held.run_id, 'a broken export'])
  await assert.rejects(admin.confirmDirectoryRun({ params, body: {} }), { status: 422 })
  const [shown] = (await admin.getDirectorySyncStatus()).items
  assert.deepEqual([shown?.held_run, shown?.users.active], [null, 60])
  assert.deepEqual(
    [(await push(admin, mistake)).run_id, (await push(admin, mistake)).status],
    [held.run_id, 'cancelled'],
  )
  assert.equal((await push(admin, snapshotOf(all))).status, 'unchanged')
  const applied = await push(admin, snapshotOf(all.slice(1)))
  const late = admin.cancelDirectoryRun({ params: { run_id: applied.run_id }, body: {} })
  await assert.rejects(late, { status: 422, message: /this run is applied: only a pull that is on its way/ })
})

test('a mistake of who provisions is let go: more of it in that hour is held anew, and after it the bounds hold', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const { scim } = await provision(kit)
  const ids = await pushed(scim, many(60))
  clock.advance(25 * 3600)
  const suspend = (n: number) => scim.patch(`Users/${ids[n]}`, [{ op: 'replace', path: 'active', value: false }])
  for (let n = 0; n < 6; n++) assert.equal((await suspend(n)).status, 200)
  const heldFor = async (n: number) => {
    const { status, json } = await suspend(n)
    assert.equal(status, 403)
    return /run_\w+/.exec(String(json.detail))?.[0] ?? ''
  }
  const first = await heldFor(6)
  const cancel = (run_id: string) => kit.admin.cancelDirectoryRun({ params: { run_id }, body: {} })
  assert.equal((await cancel(first)).run.status, 'cancelled')
  assert.equal((await cancel(first)).changed, false)
  const second = await heldFor(7)
  assert.notEqual(second, first)
  const told = (await kit.admin.listNotifications()).items.filter((n) => n.kind === 'directory.held')
  assert.equal(told.length, 2)

  // A held run that is not released stays held for any time.
  clock.advance(2 * 3600)
  assert.equal(await heldFor(8), second)
  await cancel(second)
  assert.equal((await suspend(8)).status, 200, 'another hour has begun')
  assert.deepEqual((await kit.admin.listDirectoryRuns({ query: { status: 'held' } })).items, [])
})
