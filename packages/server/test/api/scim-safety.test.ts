import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { enrollRaw } from '../support/actors/devices.ts'
import { untilStatus } from '../support/actors/people.ts'
import { type ApiAnswer, call, operation } from '../support/clients/api-calls.ts'
import {
  createScimDirectory,
  createScimUsers,
  type Scim,
  scimGroup,
  scimUser,
  scimWith,
} from '../support/clients/scim-client.ts'
import { createDirectoryFiller } from '../support/database/large-directory.ts'
import { createClock, type Replica, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { directoryGroup, directoryUser, snapshotOf } from '../support/providers/directory-snapshots.ts'

const off = [{ op: 'Replace', path: 'active', value: 'False' }]
const suspend = (scim: Scim, id: string | undefined) => scim.patch(`Users/${id}`, off)
const runIn = ({ json }: ApiAnswer) => /run_\w+/.exec(String(json.detail))?.[0] ?? ''
test('a SCIM directory on two replicas', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  const fill = await createDirectoryFiller(kit, clock.now)

  await t.test('of twenty concurrent creations of one user or group on two replicas, one succeeds', async () => {
    const { key } = await createScimDirectory(kit)
    const [here, there] = kit.replicas.map((r) =>
      scimWith({ publicUrl: kit.publicUrl, dispatcher: r.dispatcher }, key),
    ) as [Scim, Scim]
    for (const [path, body] of [
      ['Users', scimUser('jane')],
      ['Groups', scimGroup('sales')],
    ] as const) {
      const answers = await times(20, (i) => (i % 2 ? here : there).post(path, body))
      const statuses = answers.map((a) => a.status).sort()
      assert.deepEqual(statuses, [201, ...Array(19).fill(409)], answers.find((a) => a.status > 409)?.text)
      assert.ok(answers.every((a) => a.status === 201 || a.json.scimType === 'uniqueness'))
      assert.equal((await here.get(path)).json.totalResults, 1)
    }
    assert.equal((await kit.admin.getDirectorySyncStatus()).items.length, 1)
    const names = await times(6, (i) => (i % 2 ? here : there).post('Users', scimUser(`user${i}`)))
    assert.ok(names.every((a) => a.status === 201))
    assert.equal((await kit.admin.listDirectoryRuns()).items[0]?.counts.users.created, 7, 'each is counted')
  })

  await t.test(
    'a suspended user is refused on every replica within a second, and a reactivated one accepted',
    async () => {
      const { scim } = await createScimDirectory(kit, 'corp')
      await kit.admin.publishPolicy({ body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules: [] } } })
      const [, there] = kit.replicas as [Replica, Replica]
      const [id = '', other = ''] = await createScimUsers(scim, ['kate', 'liam'])
      const onThere = { publicUrl: kit.publicUrl, dispatcher: there.dispatcher }
      const enroll = async (user_id: string) => {
        const { secret } = await kit.admin.generateToken({ body: { user_id } })
        const device = await enrollRaw(onThere, secret)
        return () => call(onThere, operation('policyDigest'), device.caller)
      }
      const [poll, others] = [await enroll(id), await enroll(other)]
      assert.deepEqual([(await poll()).status, (await others()).status], [200, 200])
      assert.equal((await suspend(scim, id)).json.active, false)
      await untilStatus(poll, 401)
      assert.equal(
        (await scim.patch(`Users/${id}`, [{ op: 'replace', path: 'active', value: true }])).json.active,
        true,
      )
      await untilStatus(poll, 200)
      assert.equal((await scim.delete(`Users/${other}`)).status, 204)
      await untilStatus(others, 401)
      // The externalId and the name identify the same user, who has nothing of the former access.
      const back = await scim.post('Users', scimUser('liam'))
      assert.deepEqual([back.status, back.json.id, back.json.active], [201, other, true])
      assert.equal((await others()).status, 401)
    },
  )

  await t.test(
    'of twenty concurrent removals on two replicas only as many as allowed succeed, until confirmed',
    async () => {
      const { key, scim } = await createScimDirectory(kit, 'large')
      const both = kit.replicas.map((r) => scimWith({ publicUrl: kit.publicUrl, dispatcher: r.dispatcher }, key))
      const ids = await fill(scim, 'large', 60, 'person')
      clock.advance(25 * 3600)
      const active = async () => Number((await scim.filtered('Users', 'active eq true', '&count=0')).json.totalResults)
      const twenty = await times(20, (i) => suspend(both[i % 2]!, ids[i]))
      assert.equal(twenty.filter((a) => a.status === 200).length, 6, 'a tenth of 60')
      const held = twenty.filter((a) => a.status === 403)
      assert.equal(held.length, 14, twenty.map((a) => a.status).join())
      const runs = new Set(held.map(runIn))
      assert.deepEqual([runs.size, await active()], [1, 54])
      const [run_id = ''] = runs
      const run = await kit.admin.getDirectoryRun({ params: { run_id } })
      assert.deepEqual(
        [run.status, run.source, run.held_because],
        ['held', 'scim', [{ rule: 'users_removed', removed: 7, of: 60, most: 6, group: null }]],
      )
      // The run names each refused user once, and is in the list of all runs.
      assert.equal((await suspend(scim, ids[twenty.findIndex((a) => a.status === 403)])).status, 403)
      const names = run.diff.map((d) => d.name).sort()
      const refused = twenty.flatMap((a, i) => (a.status === 403 ? [`person${i}`] : [])).sort()
      assert.deepEqual([names, run.diff[0]?.change], [refused, 'user_suspended'])
      const waiting = await kit.admin.listDirectoryRuns({ query: { status: 'held', provider: 'large' } })
      assert.deepEqual(
        waiting.items.map((r) => r.run_id),
        [run_id],
      )
      const notices = (await kit.admin.listNotifications()).items.filter((n) => n.kind === 'directory.held')
      assert.deepEqual(
        notices.map((n) => [n.severity, n.subject.id]),
        [['critical', run_id]],
      )
      // Changes that remove nothing continue, and time alone does not release the held run.
      assert.equal((await scim.post('Users', scimUser('newcomer'))).status, 201)
      clock.advance(3 * 3600)
      // Nor is it deleted with old runs: only its confirmation ends it.
      await kit.db.inTenant(kit.tenant, (tx) =>
        sql`update directory_runs set started_at = started_at - interval '403 days' where tenant_id = ${kit.tenant}`.execute(
          tx,
        ),
      )
      await runJob(kit.app, 'forget_what_is_over')
      assert.equal(runIn(await scim.delete(`Users/${ids[20]}`)), run_id)
      const confirmed = await kit.admin.confirmDirectoryRun({
        params: { run_id },
        body: { reason: 'the branch was sold' },
      })
      assert.ok(confirmed.confirmed_at)
      assert.deepEqual([confirmed.diff.length, confirmed.diff.at(-1)?.detail], [15, 'deleted'])
      assert.deepEqual((await kit.admin.listDirectoryRuns({ query: { status: 'held' } })).items, [])
      const rest = await times(8, (i) => suspend(both[i % 2]!, ids[20 + i]))
      assert.ok(rest.every((a) => a.status === 200))
      clock.advance(3601)
      const later = []
      for (const id of ids.slice(28, 35)) later.push((await suspend(scim, id)).status)
      assert.deepEqual(later, [200, 200, 200, 200, 200, 403, 403], 'an hour later the bounds hold again')
      await assert.rejects(kit.admin.undoDirectoryRun({ params: { run_id }, body: {} }), { status: 422 })
      const shown = (await kit.admin.getDirectorySyncStatus()).items.find((d) => d.provider === 'large')
      assert.equal(shown?.held_run?.status, 'held')

      // A group of ten keeps half of its members; another group's losses do not count for it.
      const staying = ids
        .slice(0, 20)
        .filter((_, i) => twenty[i]?.status === 403)
        .slice(0, 10)
      const made = [
        await scim.post('Groups', scimGroup('ten', staying)),
        await scim.post('Groups', scimGroup('few', staying.slice(5))),
      ]
      const [ten, few] = made.map((a) => String(a.json.id)) as [string, string]
      const take = (gid: string, from: number, to: number) =>
        scim.patch(`Groups/${gid}`, [
          { op: 'remove', path: 'members', value: staying.slice(from, to).map((value) => ({ value })) },
        ])
      assert.equal((await take(ten, 0, 5)).status, 204)
      const half = await take(ten, 5, 6)
      assert.equal(half.status, 403, half.text)
      for (const answer of [await scim.put(`Groups/${ten}`, scimGroup('ten')), await scim.delete(`Groups/${ten}`)])
        assert.equal(runIn(answer), runIn(half))
      const told = (await kit.admin.getDirectoryRun({ params: { run_id: runIn(half) } })).diff
      assert.deepEqual(
        told.map((d) => [d.change, d.external_id, d.name, d.detail]),
        [
          ['group_members_changed', 'ext-ten', 'ten', '-1 members'],
          ['group_emptied', 'ext-ten', 'ten', '-5 members'],
        ],
      )
      assert.equal((await take(few, 5, 10)).status, 204)
      // Members from another source do not count: half of ten may be removed, not ten of twenty.
      const mixed = String((await scim.post('Groups', scimGroup('mixed', staying))).json.id)
      const add_members: string[] = []
      for (let i = 0; i < 10; i++) {
        const body = { operation: 'create', user: { username: `local${i}` } } as const
        add_members.push((await kit.admin.changeUser({ body })).user.user_id)
      }
      await kit.admin.changeGroup({ body: { operation: 'update', group_id: mixed, group: { add_members } } })
      assert.deepEqual([(await take(mixed, 0, 5)).status, (await take(mixed, 5, 6)).status], [204, 403])
      await kit.admin.confirmDirectoryRun({ params: { run_id: runIn(half) }, body: {} })
      assert.equal((await scim.delete(`Groups/${ten}`)).status, 204)
    },
  )

  await t.test('the limit of a new directory follows its size after a day', async () => {
    const { scim } = await createScimDirectory(kit, 'filled')
    const ids = await fill(scim, 'filled', 10, 'here')
    await fill(scim, 'filled', 71)
    const suspended = async (from: number, to: number) => {
      const statuses = []
      for (const id of ids.slice(from, to)) statuses.push((await suspend(scim, id)).status)
      return statuses
    }
    clock.advance(23.5 * 3600)
    assert.deepEqual(await suspended(0, 5), Array(5).fill(200))
    clock.advance(0.6 * 3600)
    assert.deepEqual(await suspended(5, 10), [200, 200, 200, 403, 403], 'a tenth of 81')

    // A caller with the key can't raise the limit by adding users first.
    const okta = await createScimDirectory(kit, 'okta')
    const there = await fill(okta.scim, 'okta', 10, 'there')
    clock.advance(25 * 3600)
    await fill(okta.scim, 'okta', 60)
    const statuses = []
    for (const id of there) statuses.push((await suspend(okta.scim, id)).status)
    assert.deepEqual(statuses, [...Array(5).fill(200), ...Array(5).fill(403)])
  })
})

test('a SCIM directory beside other directories and local users', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })

  await t.test('a directory has one kind of source', async () => {
    const { scim } = await createScimDirectory(kit)
    await createScimUsers(scim, ['jane'])
    const push = (provider: string) =>
      kit.admin.ingestDirectorySnapshot({ body: snapshotOf([directoryUser(1)], [], { provider }) })
    await assert.rejects(push('Entra'), { status: 422, message: /already updated by SCIM/ })
    await push('corp')
    const corp = await createScimDirectory(kit, 'corp')
    for (const answer of [await corp.scim.get('Users'), await corp.scim.post('Users', scimUser('joe'))]) {
      assert.equal(answer.status, 400)
      assert.match(answer.text, /the directory corp is already updated by snapshots/)
    }
    assert.equal((await kit.admin.listUsers({ query: { source: 'directory' } })).items.length, 2)
    await kit.admin.ingestDirectorySnapshot({
      body: snapshotOf([directoryUser(1)], [directoryGroup('g', [directoryUser(1)])], { provider: 'corp' }),
    })
    const refused = kit.admin.createApiKey({ body: { name: 'x', role: 'viewer', directory: 'entra' } })
    await assert.rejects(refused, { status: 422, message: /directory:sync/ })
  })

  await t.test(
    'SCIM cannot take over a local user, remove the last administrator, change a stronger user, or use a taken name',
    async () => {
      const { admin } = kit
      const { scim } = await createScimDirectory(kit, 'main')
      const { user: local } = await admin.changeUser({
        body: { operation: 'create', user: { username: 'local', email: 'local@example.com' } },
      })
      await admin.changeGroup({ body: { operation: 'create', group: { name: 'local group' } } })
      const taken = [
        await scim.post('Users', scimUser('Local', { emails: [] })),
        await scim.post('Groups', scimGroup('Local Group')),
      ]
      assert.deepEqual(
        taken.map((a) => [a.status, a.json.scimType]),
        Array(2).fill([409, 'uniqueness']),
      )
      for (const answer of [await scim.get(`Users/${local.user_id}`), await suspend(scim, local.user_id)])
        assert.equal(answer.status, 404)
      const [first, second, third] = (await createScimUsers(scim, ['first', 'second', 'third'])) as [
        string,
        string,
        string,
      ]
      // Entries of another directory are invisible.
      const okta = await createScimDirectory(kit, 'okta')
      assert.equal((await okta.scim.get(`Users/${first}`)).status, 404)
      assert.equal((await okta.scim.post('Users', scimUser('first'))).status, 409)
      assert.equal((await okta.scim.get('Users')).json.totalResults, 0)

      await admin.grantRole({ body: { user_id: first, role: 'tenant_admin' } })
      await admin.grantRole({ body: { user_id: second, role: 'platform_admin' } })
      for (const answer of [await suspend(scim, first), await scim.delete(`Users/${first}`)]) {
        assert.equal(answer.status, 403, answer.text)
        assert.match(answer.text, /last administrator/)
      }
      for (const answer of [
        await suspend(scim, second),
        await scim.patch(`Users/${second}`, [{ op: 'replace', path: 'userName', value: 'taken.over' }]),
      ])
        assert.match(answer.text, /permissions that this API key does not have/)
      await admin.grantRole({ body: { user_id: third, role: 'tenant_admin' } })
      assert.equal((await suspend(scim, first)).status, 200, 'another one is left')

      // An administrator's suspension is theirs.
      const [fourth = ''] = await createScimUsers(scim, ['fourth'])
      await admin.suspendUser({ body: { user_id: fourth } })
      assert.equal((await scim.get(`Users/${fourth}`)).json.active, false)
      const again = await scim.patch(`Users/${fourth}`, [{ op: 'replace', value: { active: true, displayName: 'F' } }])
      assert.deepEqual([again.status, again.json.active, again.json.displayName], [200, false, 'F'])

      // A new externalId is always recorded, and so is the return of a user who stays suspended.
      const eventsOf = async (id: string) => {
        const { items } = await admin.listAuditEvents({ query: { kind: 'user.changed', limit: 200 } })
        return items.filter((e) => 'user_id' in e && e.user_id === id)
      }
      await scim.patch(`Users/${fourth}`, [{ op: 'replace', value: { externalId: 'moved', displayName: 'Moved' } }])
      assert.ok((await eventsOf(fourth)).some((e) => e.changes?.external_id?.join() === 'ext-fourth,moved'))
      await scim.delete(`Users/${fourth}`)
      const told = (await eventsOf(fourth)).length
      const returned = await scim.post('Users', scimUser('fourth', { externalId: 'moved', displayName: 'Moved' }))
      assert.deepEqual([returned.status, returned.json.id, returned.json.active], [201, fourth, false])
      assert.equal((await eventsOf(fourth)).length, told + 1)

      // A deleted user gives up the name to the next one, and is erased after 30 days.
      const [gone = ''] = await createScimUsers(scim, ['gone'])
      assert.equal((await scim.delete(`Users/${gone}`)).status, 204)
      const next = await scim.post('Users', scimUser('gone', { externalId: 'another' }))
      assert.equal(next.status, 201, next.text)
      assert.notEqual(next.json.id, gone)
      assert.match((await admin.getUser({ params: { user_id: gone } })).username, /^gone~/)
      // Unless they may do more than the key by now.
      const [kept = ''] = await createScimUsers(scim, ['kept'])
      assert.equal((await scim.delete(`Users/${kept}`)).status, 204)
      await admin.grantRole({ body: { user_id: kept, role: 'platform_admin' } })
      assert.equal((await scim.post('Users', scimUser('kept', { externalId: 'another one' }))).status, 409)
      await admin.revokeRole({ body: { user_id: kept, role: 'platform_admin' } })
      await admin.reactivateUser({ body: { user_id: kept } })
      clock.advance(31 * 86_400)
      const deleted = await kit.app.identity.owned.deleteAbsent([kit.tenant])
      assert.equal(deleted, 1)
      await assert.rejects(admin.suspendUser({ body: { user_id: gone } }))
    },
  )
})
