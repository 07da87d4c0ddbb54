import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Contract, Output } from '@holdfast/contract'
import { effectiveStatuses } from '@holdfast/contract/devices'
import { sql } from 'kysely'
import { decodeId, encodeId } from '../../src/kernel/ids.ts'
import { enroll } from '../support/actors/devices.ts'
import { gatewayAgent, makeGateway } from '../support/actors/gateways.ts'
import { createClock, type Kit, startKit } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import { publish, rule } from '../support/domain/policy.ts'
import { setLimits } from '../support/domain/tenant-limits.ts'

type Device = Output<Contract['getDevice']>
type Made = { device: Awaited<ReturnType<typeof enroll>>; user_id: string; group_id: string }
type Situation = {
  status: Device['effective_status']
  reason: RegExp | null
  /** The reason for which the user alone, without a device, is blocked. */
  user: RegExp | null
  come: (kit: Kit, made: Made) => Promise<unknown>
  /** Reverts it. */
  go?: (kit: Kit, made: Made) => Promise<unknown>
}
const lock =
  (target: (made: Made) => { type: 'user' | 'device' | 'group' | 'tenant'; id?: string }) =>
  async (kit: Kit, made: Made) =>
    kit.admin.createLock({ body: { target: target(made), reason: 'tried' } })
const unlock = async (kit: Kit) => {
  for (const { lock_id } of (await kit.admin.listLocks()).items)
    await kit.admin.releaseLock({ params: { lock_id }, body: {} })
}
const change =
  (operation: 'suspend' | 'reactivate' | 'revoke') =>
  (kit: Kit, { device }: Made) =>
    kit.admin.changeDevice({ body: { operation, device_id: device.id } })

/** All states that block a device besides the policy, one after the other; irreversible ones come last. */
const situations: Readonly<Record<string, Situation>> = {
  'nothing in the way': { status: 'active', reason: null, user: null, come: async () => {} },
  'the device is suspended': {
    status: 'suspended',
    reason: /the device is suspended/,
    user: null,
    come: change('suspend'),
    go: change('reactivate'),
  },
  'its user is suspended': {
    status: 'user_suspended',
    reason: /its user is suspended/,
    user: /the user is suspended/,
    come: (kit, { user_id }) => kit.admin.suspendUser({ body: { user_id } }),
    go: (kit, { user_id }) => kit.admin.reactivateUser({ body: { user_id } }),
  },
  'the device is locked': {
    status: 'locked',
    reason: /the device is locked/,
    user: null,
    come: lock(({ device }) => ({ type: 'device', id: device.id })),
    go: unlock,
  },
  'its user is locked': {
    status: 'locked',
    reason: /its user is locked/,
    user: /the user is locked/,
    come: lock(({ user_id }) => ({ type: 'user', id: user_id })),
    go: unlock,
  },
  'a group of its user is locked': {
    status: 'locked',
    reason: /a group of its user is locked/,
    user: /a group of the user is locked/,
    come: lock(({ group_id }) => ({ type: 'group', id: group_id })),
    go: unlock,
  },
  'all devices are locked': {
    status: 'locked',
    reason: /all devices of the tenant are locked/,
    user: /all devices of the tenant are locked/,
    come: lock(() => ({ type: 'tenant' })),
    go: unlock,
  },
  'it waits for approval': {
    status: 'pending',
    reason: /waits for approval/,
    user: null,
    come: (kit, made) => setColumns(kit, made, sql`status = 'pending'`),
    go: (kit, made) => setColumns(kit, made, sql`status = 'active'`),
  },
  'its credential expired': {
    status: 'expired',
    reason: /its credential expired at/,
    user: null,
    come: (kit, made) => setColumns(kit, made, sql`credential_expires_at = now() - interval '1 minute'`),
    go: (kit, made) => setColumns(kit, made, sql`credential_expires_at = now() + interval '1 day'`),
  },
  'the device is revoked': {
    status: 'revoked',
    reason: /the device is revoked/,
    user: null,
    come: change('revoke'),
  },
}
async function setColumns(kit: Kit, { device }: Made, set: ReturnType<typeof sql>) {
  const id = decodeId('device', device.id) ?? ''
  await kit.db.inTenant(kit.tenant, async (tx) => {
    await sql`update devices set ${set} where tenant_id = ${kit.tenant} and device_id = ${id}::uuid`.execute(tx)
    await kit.app.changes.record(tx, kit.tenant, [{ kind: 'device', subject: id }])
  })
}

test('list, filter, detail, counts and explanation agree on the effective status of a device', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const { admin } = kit
  const { user } = await admin.changeUser({ body: { operation: 'create', user: { username: 'anna' } } })
  const { user_id } = user
  const { group } = await admin.changeGroup({
    body: { operation: 'create', group: { name: 'staff', members: [user_id] } },
  })
  const device = await enroll(kit, 'laptop', { user_id, now: clock.now })
  await enroll(kit, 'beside it', { now: clock.now })
  const made: Made = { device, user_id, group_id: group!.group_id }
  const served = await makeGateway(kit, 'g1', 'eu')
  const gateway = gatewayAgent(kit, served)
  await publish(kit, [rule('all', { any: true }, ['eu'])])
  const beat = () => kit.clientFor(served.secret).heartbeat({ body: { boot_id: 'b', active_sessions: 0 } })
  const explain = (body: object) => admin.explainPolicy({ body: { target: '10.1.2.3:tcp/22', ...body } })
  const asked = { device_id: device.id }
  const polls = () =>
    device.client.policyDigest().then(
      () => true,
      () => false,
    )

  await t.test('if no gateway is up, the policy allows and the decision is deny', async () => {
    for (const who of [asked, { user_id }]) {
      const found = await explain(who)
      assert.deepEqual(
        [found.decision, found.policy_decision, found.blocked_by],
        ['deny', 'allow', [{ kind: 'gateway', detail: 'no gateway of pool eu is up' }]],
      )
      assert.equal(found.reason, 'allowed by policy, but no gateway of pool eu is up')
    }
    await beat()
    assert.deepEqual([(await explain(asked)).decision, (await explain(asked)).blocked_by], ['allow', []])
    await admin.drainGateway({ params: { gateway_id: served.gateway.gateway_id }, body: { draining: true } })
    assert.equal((await explain(asked)).blocked_by[0]?.kind, 'gateway')
    await admin.drainGateway({ params: { gateway_id: served.gateway.gateway_id }, body: { draining: false } })
  })
  for (const [name, { status, reason, user: ofUser, come, go }] of Object.entries(situations))
    await t.test(name, async () => {
      await come(kit, made)
      await beat()
      const shown = await admin.getDevice({ params: { device_id: device.id } })
      assert.equal(shown.effective_status, status)
      if (reason) assert.match(shown.effective_status_reason ?? '', reason)
      else assert.equal(shown.effective_status_reason, null)
      const { items } = await admin.listDevices({ query: { q: 'laptop' } })
      assert.deepEqual(
        [items[0]?.effective_status, items[0]?.effective_status_reason],
        [shown.effective_status, shown.effective_status_reason],
      )
      for (const wanted of effectiveStatuses) {
        const found = await admin.listDevices({ query: { effective_status: wanted } })
        assert.equal(
          found.items.some((d) => d.device_id === device.id),
          wanted === status,
          `filter ${wanted}`,
        )
        assert.ok(found.items.every((d) => d.effective_status === wanted))
      }
      const counts = (await kit.app.devices.count(kit.tenant)).effective_status
      assert.ok(status === 'revoked' || counts[status] >= 1, JSON.stringify(counts))

      const found = await explain(asked)
      assert.equal(found.decision, status === 'active' ? 'allow' : 'deny')
      assert.equal(found.blocked_by.length > 0, status !== 'active')
      if (reason) assert.match(found.blocked_by[0]?.detail ?? '', reason)
      if (status !== 'revoked') assert.equal(found.policy_decision, 'allow', 'the rules are judged by themselves')
      // The device and its gateways get the same status.
      await gateway.pull()
      assert.equal(gateway.state?.peers.has(device.id), status === 'active', 'the gateway')
      if (status !== 'pending' && status !== 'expired') assert.equal(await polls(), status === 'active', 'the device')

      const alone = await explain({ user_id })
      assert.equal(alone.decision, ofUser ? 'deny' : 'allow')
      if (ofUser) assert.match(alone.reason, ofUser)
      await go?.(kit, made)
    })
  await t.test('a terminated session blocks the device for a while', async () => {
    const next = await enroll(kit, 'next', { user_id, now: clock.now })
    await beat()
    await gateway.pull()
    const session_id = encodeId('vpn_session', crypto.randomUUID())
    await gateway.meter([{ session_id, device_id: next.id, state: 'active', rx_bytes: 1, tx_bytes: 1 }])
    await until(async () => (await admin.listSessions()).items.length > 0)
    const [session] = (await admin.listSessions()).items
    await admin.terminateSessions({
      body: { operation: 'terminate', session_ids: [session!.session_id], block_seconds: 60 },
    })
    const found = await explain({ device_id: next.id })
    assert.deepEqual([found.decision, found.policy_decision, found.blocked_by[0]?.kind], ['deny', 'allow', 'session'])
  })
  await t.test('a plan without another session denies devices without one, as metering does', async () => {
    const [a, b] = [
      await enroll(kit, 'first', { user_id, now: clock.now }),
      await enroll(kit, 'second', { now: clock.now }),
    ] as const
    const { user: other } = await admin.changeUser({ body: { operation: 'create', user: { username: 'ben' } } })
    await beat()
    await gateway.pull()
    const meter = (device_id: string) =>
      gateway.meter([
        {
          session_id: encodeId('vpn_session', crypto.randomUUID()),
          device_id,
          state: 'active',
          rx_bytes: 1,
          tx_bytes: 1,
        },
      ])
    const [ofA, ofB, ofUser, ofOther] = [
      { device_id: a.id },
      { device_id: b.id },
      { user_id },
      { user_id: other.user_id },
    ]
    const blocked = async (asker: object) => {
      const { decision, policy_decision, blocked_by } = await explain(asker)
      assert.deepEqual([decision, policy_decision], [blocked_by.length > 0 ? 'deny' : 'allow', 'allow'])
      return blocked_by
    }
    const noRoom = [{ kind: 'session', detail: 'the tenant has reached the limit of its plan for VPN sessions (1)' }]
    await setLimits(kit, { sessions: 1 })
    for (const asker of [ofA, ofB, ofUser, ofOther])
      assert.deepEqual(await blocked(asker), [], 'no device is connected')
    await meter(a.id)
    await until(async () => (await admin.listSessions({ query: { state: 'active' } })).items.length === 1)
    for (const asker of [ofB, ofOther]) assert.deepEqual(await blocked(asker), noRoom)
    // A new session of the first device replaces that device's own session.
    for (const asker of [ofA, ofUser]) assert.deepEqual(await blocked(asker), [])
    await meter(b.id)
    const ended = async () => (await admin.listSessions({ query: { state: 'ended', device_id: b.id } })).items
    await until(async () => (await ended()).length === 1)
    assert.equal((await ended())[0]?.end_reason, 'entitlement_exceeded')
    // Only a session in the same pool is replaced.
    const elsewhere = await makeGateway(kit, 'g2', 'us')
    await kit.clientFor(elsewhere.secret).heartbeat({ body: { boot_id: 'b', active_sessions: 0 } })
    await publish(kit, [rule('all', { any: true }, ['us'])])
    assert.deepEqual(await blocked(ofA), noRoom)
    await setLimits(kit, { sessions: 2 })
    for (const asker of [ofA, ofB, ofOther]) assert.deepEqual(await blocked(asker), [])
  })
})
