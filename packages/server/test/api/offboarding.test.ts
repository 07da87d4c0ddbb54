import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { Gateway } from '@holdfast/sdk'
import { encodeId, idOf, newUuid } from '../../src/kernel/ids.ts'
import { newCsr } from '../support/actors/certificate-requests.ts'
import { enroll } from '../support/actors/gateways.ts'
import { provision, scimUser } from '../support/clients/scim-client.ts'
import { type Kit, startKit } from '../support/deployment/deployment.ts'
import { followingGateways } from '../support/domain/workflow-runs.ts'
import { config, pull, sourceOf, startKeycloak } from '../support/providers/directory-pulls.ts'
import { person, push, snapshotOf } from '../support/providers/directory-snapshots.ts'

/** A user with a device, its certificate, a VPN session and an admin session. */
type Had = { user_id: string; device_id: string; spc_id: string; session_id: string; admin_session: string }
type Way = { make?: (name: string) => Promise<string>; stop: (had: Had, name: string) => Promise<unknown> }

async function connect(kit: Kit, gateway: Gateway, user_id: string): Promise<Had> {
  const device = await enroll(kit, `device ${newUuid()}`, { user_id })
  const { spc } = await device.client.issueSpc({ body: { csr: await newCsr() } })
  const session_id = encodeId('vpn_session', newUuid())
  const sample = { session_id, device_id: device.id, state: 'active' as const, rx_bytes: 1, tx_bytes: 1 }
  assert.equal((await gateway.meter([sample])).accepted, 1)
  const admin_session = newUuid()
  const at = new Date()
  const row = {
    tenant_id: kit.tenant,
    session_id: admin_session,
    user_id: idOf('user', user_id),
    secret_digest: randomBytes(32),
    secret_digest_version: 1,
    auth_method: 'password',
    idle_seconds: 900,
    started_at: at,
    last_seen_at: at,
    expires_at: new Date(at.getTime() + 3_600_000),
  }
  await kit.db.inTenant(kit.tenant, (tx) => tx.insertInto('admin_sessions').values(row).execute())
  return { user_id, device_id: device.id, spc_id: spc.spc_id, session_id, admin_session }
}

/** The parts that still work. */
async function working(kit: Kit, { user_id, device_id, spc_id, session_id, admin_session }: Had): Promise<string[]> {
  const { items: sessions } = await kit.admin.listSessions({ query: { device_id, state: 'active' } })
  const { items: admins } = await kit.admin.listAdminSessions({ query: { user_id } })
  return [
    ...((await kit.admin.getSpc({ params: { spc_id } })).status === 'active' ? ['certificate'] : []),
    ...(sessions.some((s) => s.session_id === session_id) ? ['VPN session'] : []),
    ...(admins.some((s) => s.session_id === encodeId('admin_session', admin_session)) ? ['admin session'] : []),
  ]
}

test('modules/offboarding: each way of stopping a person or a device ends certificates for good, and sessions', async (t) => {
  const kit = await startKit(t, { config })
  const { admin } = kit
  // Runs of workflows wait until it enforces what they changed.
  const [following] = await followingGateways(kit, 1)
  const gateway = following?.gateway ?? assert.fail()
  const keycloak = await startKeycloak(kit)
  const source = await sourceOf(admin, keycloak, { provider: 'pulled' })
  keycloak.addUser('anchor')
  const { scim } = await provision(kit, 'entra')
  const others = [person('a'), person('b')]
  const named = async (name: string) =>
    (await admin.listUsers({ query: { q: name, limit: 10 } })).items.find((u) => u.username === name)?.user_id ?? ''
  const local = async (username: string) =>
    (await admin.changeUser({ body: { operation: 'create', user: { username } } })).user.user_id
  const bySnapshot = async (userName: string) => {
    await push(admin, snapshotOf([...others, { externalId: userName, userName }]))
    return named(userName)
  }
  const byScim = async (name: string) => String((await scim.post('Users', scimUser(name))).json.id)
  const pulledIds = new Map<string, string>()
  const byPull = async (name: string) => {
    pulledIds.set(name, keycloak.addUser(name))
    await pull(admin, source.source_id)
    return named(name)
  }
  const playbook = (playbook: 'compromised_user' | 'lost_device', params: object) =>
    admin.runPlaybook({ body: { playbook, params } as never })
  const workflow = (params: object) => admin.runWorkflow({ body: { workflow: 'offboard_user', params } as never })

  const ofPeople: Readonly<Record<string, Way>> = {
    'suspend a user': { stop: ({ user_id }) => admin.suspendUser({ body: { user_id } }) },
    'change a user: suspend': { stop: ({ user_id }) => admin.changeUser({ body: { operation: 'suspend', user_id } }) },
    'change a user: delete': { stop: ({ user_id }) => admin.changeUser({ body: { operation: 'delete', user_id } }) },
    'SCIM: active false': {
      make: byScim,
      stop: ({ user_id }) => scim.patch(`Users/${user_id}`, [{ op: 'replace', path: 'active', value: false }]),
    },
    'SCIM: DELETE': { make: byScim, stop: ({ user_id }) => scim.delete(`Users/${user_id}`) },
    'a snapshot without the user': { make: bySnapshot, stop: () => push(admin, snapshotOf(others)) },
    'a snapshot with another user under the id': {
      make: bySnapshot,
      stop: async (_, name) => {
        await push(admin, snapshotOf(others))
        await push(admin, snapshotOf([...others, { externalId: name, userName: `next-${name}` }]))
      },
    },
    'a pull without the user': {
      make: byPull,
      stop: (_, name) => {
        keycloak.users.delete(pulledIds.get(name) ?? '')
        return pull(admin, source.source_id)
      },
    },
    'playbook compromised_user': { stop: ({ user_id }) => playbook('compromised_user', { user_id, suspend: true }) },
    'workflow offboard_user': { stop: ({ user_id }) => workflow({ user_id }) },
    'workflow offboard_user, deleted': { stop: ({ user_id }) => workflow({ user_id, delete: true }) },
  }
  const change = (operation: 'suspend' | 'revoke'): Way => ({
    stop: ({ device_id }) => admin.changeDevice({ body: { operation, device_id } }),
  })
  const changeMany = (operation: 'suspend' | 'revoke'): Way => ({
    stop: ({ device_id }) => admin.changeDevices({ body: { operation, device_ids: [device_id] } }),
  })
  const ofDevices: Readonly<Record<string, Way>> = {
    'suspend a device': change('suspend'),
    'revoke a device': change('revoke'),
    'suspend devices': changeMany('suspend'),
    'revoke devices': changeMany('revoke'),
    'playbook lost_device': { stop: ({ device_id }) => playbook('lost_device', { device_id, revoke: true }) },
  }
  let n = 0
  const tryEach = async (ways: Readonly<Record<string, Way>>, left: readonly string[]) => {
    for (const [what, { make = local, stop }] of Object.entries(ways)) {
      const name = `stopped-${++n}`
      const had = await connect(kit, gateway, await make(name))
      assert.deepEqual(await working(kit, had), ['certificate', 'VPN session', 'admin session'], `before: ${what}`)
      await stop(had, name)
      assert.deepEqual(await working(kit, had), left, what)
      // None of it works again once the stop is taken back, where it can be.
      await admin.reactivateUser({ body: { user_id: had.user_id } }).catch(() => {})
      await admin.changeDevice({ body: { operation: 'reactivate', device_id: had.device_id } }).catch(() => {})
      assert.deepEqual(await working(kit, had), left, `after: ${what}`)
    }
  }
  await tryEach(ofPeople, [])
  await tryEach(ofDevices, ['admin session'])
  const locked = await connect(kit, gateway, await local('locked'))
  await admin.createLock({ body: { target: { type: 'user', id: locked.user_id }, reason: 'a lock is taken back' } })
  assert.deepEqual(await working(kit, locked), ['certificate'], 'a lock ends sessions only')
})
