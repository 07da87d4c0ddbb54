import { createProof, generateKey } from '@holdfast/crypto'
import { createClient } from '@holdfast/sdk'
import pg from 'pg'
import { decodeId } from '../../server/src/kernel/ids.ts'
import { newWireguardKey } from '../../server/test/support/actors/gateways.ts'
import { type Kit, times } from '../../server/test/support/deployment/deployment.ts'
import type { Directory } from './fleet-setup.ts'

export type SeededDevice = { id: string; hasReported: boolean }

const platforms = ['linux', 'macos', 'windows', 'ios', 'android'] as const
const systems = { linux: 'Ubuntu 24.04', macos: '15.1', windows: '11 24H2', ios: '18.2', android: '15' } as const
const kinds = { linux: 'workstation', macos: 'macbook', windows: 'thinkpad', ios: 'iphone', android: 'pixel' } as const

const count = 70
/** Number of devices that enroll at a time. */
const width = 10
/** True for the devices, by index, that wait for approval because of their token. */
const isPending = (i: number) => i >= 60 && i < 64

/** Enrolls the devices of the users, and lets most of them report their posture. */
export async function enrollDevices(kit: Kit, { userIds, groupIds }: Directory): Promise<SeededDevice[]> {
  const tokenFor = async (name: string, more: object) =>
    (await kit.admin.generateToken({ body: { name, max_uses: 0, ...more } })).secret
  const approved = await tokenFor('wave 3', { requires_approval: true })
  const kiosks = await tokenFor('kiosks', { group_ids: [groupIds[3]!], tags: ['kiosk'] })
  const ofUser = await Promise.all(userIds.map((user_id, i) => tokenFor(`laptop ${i + 1}`, { user_id })))
  await createEndedTokens(kit)
  const devices: SeededDevice[] = []
  for (let first = 0; first < count; first += width)
    devices.push(
      ...(await times(width, (at) => {
        const i = first + at
        return enrollOne(kit, i, isPending(i) ? approved : i >= 64 ? kiosks : ofUser[i % ofUser.length]!)
      })),
    )
  return devices
}

async function createEndedTokens(kit: Kit): Promise<void> {
  const { enrollment_token } = await kit.admin.generateToken({ body: { name: 'typed into a chat' } })
  await kit.admin.revokeToken({ params: { token_id: enrollment_token.token_id }, body: { reason: 'leaked' } })
  await kit.admin.generateToken({ body: { name: 'new starters', max_uses: 20, expires_in_seconds: 3600 } })
}

async function enrollOne(kit: Kit, i: number, token: string): Promise<SeededDevice> {
  const { privateJwk } = generateKey('ES256')
  const connection = {
    baseUrl: kit.publicUrl,
    dispatcher: kit.dispatcher,
    prove: (method: string, url: string, accessToken: string) =>
      createProof(privateJwk, { method, url, accessToken, now: new Date() }),
  }
  const platform = platforms[i % platforms.length]!
  const made = await createClient({ ...connection, credential: token }).enroll({
    body: {
      device: {
        name: `${kinds[platform]}-${String(i + 1).padStart(2, '0')}`,
        platform,
        os_version: systems[platform],
        client_version: i % 7 === 0 ? '1.8.2' : '1.9.0',
        wireguard_public_key: newWireguardKey(),
      },
    },
  })
  const device = createClient({ ...connection, credential: made.credential })
  const hasReported = !isPending(i) && i % 6 !== 5
  if (hasReported)
    await device.reportPosture({ body: { facts: { 'disk.encrypted': i % 9 !== 4, 'os.type': platform } } })
  return { id: made.device_id, hasReported }
}

/** Moves some devices into each of the other states. */
export async function moveDevices(kit: Kit, devices: readonly SeededDevice[], { userIds }: Directory): Promise<void> {
  const idsFrom = (first: number, many: number) => devices.slice(first, first + many).map(({ id }) => id)
  const move = (operation: 'suspend' | 'revoke', reason: string) => (device_id: string) =>
    kit.admin.changeDevice({ body: { operation, device_id, reason } })
  await Promise.all(idsFrom(40, 3).map(move('suspend', 'left in a taxi')))
  await Promise.all(idsFrom(43, 3).map(move('revoke', 'replaced by a new one')))
  for (const id of idsFrom(46, 2))
    await kit.admin.createLock({ body: { target: { type: 'device', id }, reason: 'under investigation' } })
  for (const id of idsFrom(38, 2)) await endCredential(kit, id)
  await markSeen(kit, devices)
  // A random draw decides which devices get the newer policy. This device always gets the stable one, for its pictures.
  await kit.admin.changeDevice({
    body: { operation: 'update', device_id: devices[0]!.id, device: { channel: 'stable' } },
  })
  await kit.admin.suspendUser({ body: { user_id: userIds[0]!, reason: 'on leave' } })
  await kit.admin.changeUser({ body: { operation: 'delete', user_id: userIds[1]!, reason: 'left' } })
  await lockOut(kit, userIds[3]!)
}

/** Sets the time at which devices were last seen, since the server writes it with a delay and pictures show it. */
async function markSeen(kit: Kit, devices: readonly SeededDevice[]): Promise<void> {
  const owner = new pg.Client({ connectionString: kit.databaseUrl })
  await owner.connect()
  const ids = devices.flatMap(({ id, hasReported }) => (hasReported ? [decodeId('device', id)] : []))
  await owner.query('update device_activity set last_seen_at = now() where device_id = any($1)', [ids])
  await owner.end()
}

/** Locks a user for a quarter of an hour, as failed sign-ins do. */
export const lockOut = (kit: Kit, id: string) =>
  kit.db.inTenant(kit.tenant, (tx) =>
    tx
      .updateTable('users')
      .set({ locked_until: new Date(Date.now() + 900_000) })
      .where('tenant_id', '=', kit.tenant)
      .where('user_id', '=', decodeId('user', id) ?? '')
      .execute(),
  )

/** Expires the credential of a device, as if it had been off for too long. */
const endCredential = (kit: Kit, id: string) =>
  kit.db.inTenant(kit.tenant, (tx) =>
    tx
      .updateTable('devices')
      .set({ credential_expires_at: new Date(Date.now() - 3_600_000) })
      .where('tenant_id', '=', kit.tenant)
      .where('device_id', '=', decodeId('device', id) ?? '')
      .execute(),
  )
