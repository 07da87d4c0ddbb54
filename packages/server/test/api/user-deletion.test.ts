import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { scimUrns } from '@holdfast/contract/scim-shapes'
import { decodeId } from '../../src/kernel/ids.ts'
import { enroll } from '../support/actors/gateways.ts'
import { refusedWith } from '../support/actors/sign-in.ts'
import { scimWith } from '../support/clients/scim-client.ts'
import { withClient } from '../support/database/test-database.ts'
import { createClock, type Kit, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import { person, push, snapshotOf, userOf } from '../support/providers/directory-snapshots.ts'

/** Every way in which a user is deleted. A directory that names a user no more suspends them for 30 days first. */
const ways: Readonly<Record<string, { make: (kit: Kit) => Promise<string>; remove: Remove }>> = {
  'lifecycle delete': {
    make: local('ada'),
    remove: async (kit, user_id) => void (await kit.admin.changeUser({ body: { operation: 'delete', user_id } })),
  },
  'offboard_user, deleted': {
    make: local('ben'),
    remove: async (kit, user_id) => {
      const { run } = await kit.admin.runWorkflow({
        body: { workflow: 'offboard_user', params: { user_id, delete: true } },
      })
      assert.equal(run.status, 'succeeded', JSON.stringify(run.steps))
    },
  },
  'absent from a snapshot for 30 days': {
    make: async (kit) => {
      await push(kit.admin, snapshotOf([person(1), person(2)]))
      return (await userOf(kit, person(1)))!.user_id
    },
    remove: async (kit, _, clock) => {
      await push(kit.admin, snapshotOf([person(2)], [], { full: true }))
      clock.advance(31 * 86_400)
      assert.equal(await runJob(kit.app, 'delete_absent_users'), 1)
    },
  },
  'DELETE by SCIM': {
    make: async (kit) => {
      const scim = await scimOf(kit)
      const made = await scim.post('Users', { schemas: [scimUrns.user], userName: 'scim', externalId: 'scim-1' })
      assert.equal(made.status, 201, JSON.stringify(made.json))
      return String(made.json.id)
    },
    remove: async (kit, user_id) => {
      assert.equal((await (await scimOf(kit)).delete(`Users/${user_id}`)).status, 204)
    },
  },
}
type Remove = (kit: Kit, user_id: string, clock: ReturnType<typeof createClock>) => Promise<void>

function local(username: string) {
  return async (kit: Kit) =>
    (await kit.admin.changeUser({ body: { operation: 'create', user: { username } } })).user.user_id
}
const scimOf = async (kit: Kit) => {
  const key = await kit.app.access.createKeyFor(kit.tenant, { name: 'scim', role: 'tenant_admin', directory: 'entra' })
  return scimWith(kit, key)
}
const used = async (kit: Kit, metric: string) =>
  (await kit.app.tenancy.usageNow(kit.tenant)).find((u) => u.metric === metric)?.used

test('what a deleted user has ends in the same transaction, whichever way the deletion comes', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  for (const [name, { make, remove }] of Object.entries(ways))
    await t.test(name, async () => {
      const before = await used(kit, 'devices')
      const user_id = await make(kit)
      const active = await enroll(kit, `active of ${name}`, { user_id, now: clock.now })
      const suspended = await enroll(kit, `suspended of ${name}`, { user_id, now: clock.now })
      await kit.admin.changeDevice({ body: { operation: 'suspend', device_id: suspended.id } })
      const { enrollment_token: token, secret } = await kit.admin.generateToken({ body: { user_id, max_uses: 0 } })
      assert.equal(await used(kit, 'devices'), (before ?? 0) + 1)

      await remove(kit, user_id, clock)
      for (const device of [active, suspended]) {
        const shown = await kit.admin.getDevice({ params: { device_id: device.id } })
        assert.equal(shown.status, 'revoked')
        await assert.rejects(device.client.policyDigest(), refusedWith(401))
      }
      assert.equal(await used(kit, 'devices'), before, 'the places are free')
      assert.equal((await kit.app.fleet.all(kit.tenant)).size, 0)
      const after = await kit.admin.getToken({ params: { token_id: token.token_id } })
      assert.equal(after.status, name.startsWith('absent') ? 'expired' : 'revoked')
      await assert.rejects(kit.clientFor(secret).listEnrollmentProviders(), refusedWith(401))
      const revoked = (await eventsOf(kit, 'device.changed')).filter((e) => e.operation === 'revoke')
      for (const device of [active, suspended])
        if (!name.startsWith('offboard'))
          assert.deepEqual(revoked.find((e) => e.device_id === device.id)?.details, {
            reason: 'the user was deleted',
          })
    })
  await t.test('a device comes to no user who is being deleted', () => race(kit, clock.now))
  await t.test('an upgrade revokes the devices of users who were deleted before', () => upgrade(kit, clock.now))
})

async function race(kit: Kit, now: () => Date): Promise<void> {
  const device = await enroll(kit, 'moved about', { now })
  for (let round = 0; round < 5; round++) {
    const user_id = await local(`leaver-${round}`)(kit)
    await Promise.allSettled([
      kit.admin.changeDevice({ body: { operation: 'update', device_id: device.id, device: { user_id } } }),
      kit.admin.changeUser({ body: { operation: 'delete', user_id } }),
      kit.admin.generateToken({ body: { user_id } }),
    ])
    const { status, user_id: owner } = await kit.admin.getDevice({ params: { device_id: device.id } })
    if (status === 'revoked') return
    assert.notEqual(owner, user_id)
  }
}

async function upgrade(kit: Kit, now: () => Date): Promise<void> {
  const user_id = await local('of-old')(kit)
  const devices = await times(3, (i) => enroll(kit, `of old ${i}`, { user_id, now }))
  const before = await used(kit, 'devices')
  await withClient(kit.databaseUrl, async (client) => {
    await client.query('update users set deleted_at = now() where user_id = $1', [decodeId('user', user_id)])
    const migration = new URL('../../migrations/0067_devices_of_deleted_users.sql', import.meta.url)
    await client.query(await readFile(migration, 'utf8'))
  })
  await kit.heard()
  for (const device of devices) {
    assert.equal((await kit.admin.getDevice({ params: { device_id: device.id } })).status, 'revoked')
    await assert.rejects(device.client.policyDigest(), refusedWith(401))
  }
  assert.equal(await used(kit, 'devices'), (before ?? 0) - devices.length)
  const fleet = await kit.app.fleet.all(kit.tenant)
  assert.ok(
    devices.every((device) => !fleet.has(decodeId('device', device.id) ?? '')),
    'replicas heard of it',
  )
  const told = (await eventsOf(kit, 'device.changed')).filter((e) => e.actor.id === 'upgrade')
  assert.deepEqual(new Set(told.map((e) => e.target?.name)), new Set(['of old 0', 'of old 1', 'of old 2']))
}
