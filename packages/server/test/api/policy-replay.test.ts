import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { audited, enroll, newSession, refused, report, withGateway } from '../support/actors/gateways.ts'
import { makeUser } from '../support/actors/people.ts'
import { startKit, times } from '../support/deployment/deployment.ts'

const resources = { wiki: { cidrs: ['10.1.0.0/24'] }, ssh: { cidrs: ['10.2.0.0/24'] } }
const allowing = (rules: object[], named: object = resources) => ({
  schema: 'holdfast.policy/1',
  resources: named,
  rules: rules.map((r, i) => ({ id: `r${i}`, action: 'allow', ...r })),
})
const everyone = { from: { any: true } }

test('sessions that were recorded are replayed against a draft', async (t: TestContext) => {
  const kit = await startKit(t)
  const { admin } = kit
  const { client } = await withGateway(kit)
  await admin.publishPolicy({
    body: { channel: 'stable', policy: allowing([{ ...everyone, to: ['wiki', 'ssh'] }]) },
  })
  const users = await times(3, (i) => makeUser(kit, `user-${i}`))
  const devices = await times(4, (i) => enroll(kit, `device ${i}`, { user_id: users[i % 3]!, tags: [`t${i}`] }))
  /** A sample of an ended session, by device and used resources. */
  const sample = (i: number, ...used: string[]) => ({
    session_id: newSession(),
    device_id: devices[i]!.id,
    state: 'ended',
    rx_bytes: 9,
    tx_bytes: 9,
    end_reason: 'device_gone',
    source_ip: '192.0.2.7',
    resources: used.map((resource) => ({ resource, rx_bytes: 3, tx_bytes: 3 })),
  })
  const samples = [sample(0, 'wiki'), sample(0, 'ssh', 'wiki'), sample(1, 'ssh'), sample(2, 'wiki'), sample(3, 'ssh')]
  await client.metering({ body: report([...samples, sample(3)]) })
  const replay = (policy: Record<string, unknown>) => admin.replayPolicy({ body: { policy } })
  const without = allowing([{ ...everyone, to: ['wiki'] }])

  await t.test('it says how many sessions of how many users it would have blocked, and of what', async () => {
    const { blocked, ...found } = await replay(without)
    assert.deepEqual(found, {
      sessions_examined: 5,
      complete: true,
      sessions_blocked: 3,
      devices_blocked: 3,
      users_blocked: 2,
      resources: [{ resource: 'ssh', sessions: 3, users: 2 }],
    })
    assert.deepEqual(
      blocked.map((b) => [b.device_id, b.resource]).sort(),
      [0, 1, 3].map((i) => [devices[i]!.id, 'ssh']).sort(),
    )
    assert.match(blocked[0]!.reason, /./)
  })
  await t.test('what it still allows, in other words too, is not blocked', async () => {
    const same = allowing([
      { ...everyone, to: ['wiki'] },
      { from: { tags: ['t0', 't1', 't3'] }, to: ['10.2.0.0/16'] },
    ])
    assert.equal((await replay(same)).sessions_blocked, 0)
  })
  await t.test(
    'a resource that it does not name any more is out of reach; the address of a session counts',
    async () => {
      const gone = await replay(allowing([{ ...everyone, to: ['wiki'] }], { wiki: resources.wiki }))
      assert.deepEqual(
        [gone.sessions_blocked, gone.blocked[0]!.reason],
        [3, 'the policy has no resource or host "ssh"'],
      )
      const office = { ...everyone, to: ['wiki', 'ssh'], when: { cidrs: ['198.51.100.0/24'] } }
      assert.equal((await replay(allowing([office]))).sessions_blocked, 5)
    },
  )
  await t.test('what is denied already, and devices that may do nothing now, are not its doing', async () => {
    await admin.changeDevice({ body: { operation: 'suspend', device_id: devices[3]!.id } })
    assert.equal((await replay(without)).sessions_blocked, 2)
    await admin.publishPolicy({ body: { channel: 'stable', policy: without } })
    assert.equal((await replay(without)).sessions_blocked, 0)
  })
  await t.test(
    'a document that is not in order is refused where it is wrong; it is on record that one was tried',
    async () => {
      await assert.rejects(replay({ schema: 'holdfast.policy/2' }), refused(422, /policy\.schema/))
      const events = await audited(kit, 'policy.replayed')
      assert.equal(events.length, 6)
      const other = kit.clientFor(await kit.keyFor('tenant_admin', await kit.newTenant()))
      assert.equal((await other.replayPolicy({ body: { policy: allowing([]) } })).sessions_examined, 0)
    },
  )
})
