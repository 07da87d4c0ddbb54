import { createHash, randomBytes } from 'node:crypto'
import { createProof } from '@holdfast/crypto/dpop'
import { type DeviceKey, makeDeviceKey, mintCredential, openCredentialSigner } from './credentials.ts'
import { rawRequest } from './requests.ts'
import type { Server } from './server.ts'

/** Number of different group sets among the users of a fleet. A policy that tells them apart has as many variants. */
export const variants = 500
/** Groups of the directory. A user of set `v` is in the groups `v`, `v + 500`, … */
export const directoryGroups = 5000

type FleetDevice = { deviceId: string; credential: string; key: DeviceKey | undefined }
export type Fleet = { server: Server; tenantId: string; devices: FleetDevice[] }

/** The id of the nth device, user or group in every fleet; the database computes the same. */
export const uuidOf = (noun: 'device' | 'user' | 'group', n: number): string => {
  const hex = createHash('md5').update(`${noun}-${n}`).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
/** Returns the user of a device. Device 0 has its user for itself; each further user has two devices. */
const userOfDevice = (n: number): number => (n + 1) >> 1

type Wanted = {
  devices: number
  /** Adds 5,000 groups, a user for every two devices, and their memberships. */
  directory?: boolean
  /** Gives every device a key that we hold, so that its requests carry proofs. */
  keys?: boolean
  /** Instead of `directory`: 60 groups, with every user in ten of them, chosen at random. */
  randomGroups?: boolean
  /** Adds a posture report for every device. */
  posture?: boolean
  /** Number of devices that send requests and need a credential; the default is all. */
  asking?: number
}

/**
 * Inserts a fleet directly into the database and restarts the server, which loads it. The devices get credentials that
 * the server accepts as its own.
 */
export async function seedFleet(server: Server, wanted: Wanted): Promise<Fleet> {
  const asking = wanted.asking ?? wanted.devices
  const keys = wanted.keys ? Array.from({ length: asking }, makeDeviceKey) : undefined
  const tenantId = await server.withDatabase(async (db) => {
    const { rows } = await db.query<{ tenant_id: string }>(`select tenant_id from tenants where name = 'default'`)
    const tenant = rows[0]?.tenant_id ?? ''
    // All references are valid by construction, and checking them for five million memberships would take too long.
    await db.query('set session_replication_role = replica')
    const directory = wanted.directory ? directorySql : wanted.randomGroups ? randomDirectorySql : []
    for (const sql of directory) await db.query(sql, [tenant, userOfDevice(wanted.devices)])
    // Devices that send no requests also have a key thumbprint, but nobody holds the key.
    const jkts = Array.from({ length: wanted.devices }, (_, i) =>
      keys ? (keys[i]?.jkt ?? randomBytes(32).toString('base64url')) : null,
    )
    await db.query(devicesSql(directory.length > 0), [tenant, jkts])
    if (wanted.posture) await db.query(postureSql, [tenant])
    await db.query('update tenant_epochs set addresses = addresses + $2, seq = seq + 1 where tenant_id = $1', [
      tenant,
      wanted.devices,
    ])
    await db.query('vacuum analyze')
    return tenant
  })
  await server.restart()
  const signer = await openCredentialSigner(server)
  const devices: FleetDevice[] = []
  for (let i = 0; i < asking; i++) {
    const deviceId = uuidOf('device', i)
    const key = keys?.[i]
    const credential = await mintCredential(signer, { server, tenantId, deviceId, jkt: key?.jkt })
    devices.push({ deviceId, credential, key })
  }
  return { server, tenantId, devices }
}

const directorySql = [
  `insert into groups (tenant_id, group_id, name)
   select $1, md5('group-' || i)::uuid, 'group-' || i from generate_series(0, ${directoryGroups - 1}) i where $2 >= 0`,
  `insert into users (tenant_id, user_id, username, email)
   select $1, md5('user-' || i)::uuid, 'user-' || i, 'user-' || i || '@example.com' from generate_series(0, $2::int) i`,
  `insert into group_members (tenant_id, group_id, user_id)
   select $1, md5('group-' || (u % ${variants} + ${variants} * g))::uuid, md5('user-' || u)::uuid
   from generate_series(0, $2::int) u, generate_series(0, ${directoryGroups / variants - 1}) g`,
]

const randomDirectorySql = [
  `insert into groups (tenant_id, group_id, name)
   select $1, md5('group-' || i)::uuid, 'group-' || i from generate_series(0, 59) i where $2 >= 0`,
  directorySql[1]!,
  `insert into group_members (tenant_id, group_id, user_id)
   select $1, md5('group-' || g)::uuid, md5('user-' || u)::uuid
   from generate_series(0, $2::int) u,
     lateral (select g from generate_series(0, 59) g order by md5(u || ' ' || g) limit 10) as chosen`,
]

const devicesSql = (owned: boolean) => `
  insert into devices (tenant_id, device_id, user_id, name, platform, os_version, client_version, tags, status, jkt,
    wireguard_public_key, address_number, credential_expires_at, credential_renew_after, enrolled_method)
  select $1, md5('device-' || i)::uuid, ${owned ? `md5('user-' || (i + 1) / 2)::uuid` : 'null'}, 'laptop-' || i,
    (array['macos', 'windows', 'linux', 'ios'])[i % 4 + 1], '15.0.1', '1.0.0', array['managed'], 'active', jkt,
    encode(sha256(('device-' || i)::bytea), 'base64'), i + 1, now() + interval '1 day', now() + interval '16 hours', 'token'
  from (select jkt, (at - 1)::int as i from unnest($2::text[]) with ordinality as given (jkt, at)) as numbered`

const postureSql = `
  insert into device_postures (tenant_id, device_id, facts, facts_digest, verdict, reported_at)
  select tenant_id, device_id, jsonb_build_object('disk.encrypted', true, 'firewall.enabled', true, 'os.version', '15.0.1',
    'av.updated_at', now(), 'screen_lock.enabled', true, 'custom.patch_level', 42), 'sha256:' || repeat('0', 64), 'unknown', now()
  from devices where tenant_id = $1`

/** The bytes of a GET by a device, with a proof if the device has a key. A proof is valid once, for 60 s. */
export function deviceGet(
  { server }: Pick<Fleet, 'server'>,
  { credential, key }: FleetDevice,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Buffer {
  const proof =
    key &&
    createProof(key.privateKey, { method: 'GET', url: server.url + path, accessToken: credential, now: new Date() })
  return rawRequest('GET', path, { authorization: `Bearer ${credential}`, ...(proof && { dpop: proof }), ...headers })
}

export const digestPath = '/v1/policy/digest'
export const bundlePath = '/v1/policy/bundle'
