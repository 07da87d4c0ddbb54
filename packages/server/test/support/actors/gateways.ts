import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createProof, generateKey } from '@holdfast/crypto'
import { ApiError, createClient, createSender, type DirectoryPool, type Gateway, openGateway } from '@holdfast/sdk'
import { encodeId, newUuid } from '../../../src/kernel/ids.ts'
import type { Kit, Replica } from '../deployment/deployment.ts'

export const region = { code: 'eu-1', name: 'Frankfurt', lat: 50.1, lon: 8.7 }

export const refused = (status: number, detail?: RegExp) => (e: unknown) => {
  assert.ok(e instanceof ApiError, String(e))
  assert.equal(e.status, status, e.message)
  if (detail) assert.match(`${e.message} ${JSON.stringify(e.errors ?? [])}`, detail)
  return true
}
export const audited = async (kit: Kit, kind: string) => (await kit.admin.listAuditEvents({ query: { kind } })).items
export const seqOf = async (kit: Kit) =>
  kit.db.inTenant(kit.tenant, async (tx) => {
    const row = await tx
      .selectFrom('tenant_epochs')
      .select('seq')
      .where('tenant_id', '=', kit.tenant)
      .executeTakeFirstOrThrow()
    return row.seq
  })

export const newWireguardKey = (): string => generateTunnelKey().toString('base64')
/** The highest bit of a public key of X25519 is zero. */
function generateTunnelKey(): Buffer {
  const bytes = randomBytes(32)
  bytes[31]! &= 0x7f
  return bytes
}

export async function withGateway(kit: Kit, name = 'g1', poolName = `pool of ${name}`) {
  const pool = await kit.admin.createGatewayPool({ body: { name: poolName, region } })
  const { gateway, secret } = await kit.admin.createGateway({
    params: { pool_id: pool.pool_id },
    body: { name, endpoints: [{ host: `${name}.example`, port: 51820, proto: 'udp' }], public_key: newWireguardKey() },
  })
  return { pool, gateway, secret, client: kit.clientFor(secret) }
}

/** Makes a change that does not concern gateways. */
export async function changeSomethingElse(kit: Kit) {
  const before = await seqOf(kit)
  const { api_key } = await kit.admin.createApiKey({ body: { name: 'short-lived', role: 'viewer' } })
  await kit.admin.revokeApiKey({ params: { key_id: api_key.key_id }, body: {} })
  assert.ok((await seqOf(kit)) > before)
}

export async function enroll(
  kit: Kit,
  name: string,
  {
    now = () => new Date(),
    admin = kit.admin,
    wireguard_public_key,
    secret: existing,
    ...token
  }: {
    user_id?: string
    tags?: string[]
    group_ids?: string[]
    ephemeral_seconds?: number
    now?: () => Date
    admin?: Kit['admin']
    wireguard_public_key?: string
    /** The secret of an existing token. */
    secret?: string
  } = {},
) {
  const secret = existing ?? (await admin.generateToken({ body: token })).secret
  const { privateJwk } = generateKey('ES256')
  const connection = {
    baseUrl: kit.publicUrl,
    dispatcher: kit.dispatcher,
    prove: (method: string, url: string, accessToken: string) =>
      createProof(privateJwk, { method, url, accessToken, now: now() }),
  }
  const given = wireguard_public_key === undefined ? {} : { wireguard_public_key }
  const device = { name, platform: 'linux' as const, client_version: '1.2.3', ...given }
  const made = await createClient({ ...connection, credential: secret }).enroll({ body: { device } })
  let { credential } = made
  const client = createClient({ ...connection, credential: () => credential })
  const directory = async (): Promise<DirectoryPool[]> => payloadOf((await client.gatewayPools()).directory).pools
  return {
    id: made.device_id,
    /** The answer to its enrollment. */
    made,
    /** The pools in its directory, unverified. */
    directory,
    client,
    /** Renews the credential and uses the new one. */
    renew: async (body: { wireguard_public_key?: string } = {}) => {
      credential = (await client.renewCredential({ body })).credential
    },
    /** The same device, at another replica. */
    at: ({ dispatcher }: Replica) => createClient({ ...connection, dispatcher, credential: made.credential }),
    send: createSender({ ...connection, credential: made.credential }),
  }
}

/** The payload of a JWS, unverified. */
export const payloadOf = (jws: string) => JSON.parse(Buffer.from(jws.split('.')[1]!, 'base64url').toString())

export const open = (
  kit: Kit,
  { gateway, secret }: { gateway: { gateway_id: string }; secret: string },
  now = () => new Date(),
  { dispatcher }: Pick<Replica, 'dispatcher'> = kit,
): Gateway =>
  openGateway({
    baseUrl: kit.publicUrl,
    dispatcher,
    secret,
    gatewayId: gateway.gateway_id,
    tenantId: encodeId('tenant', kit.tenant),
    now,
  })

export const rule = (id: string, from: object, via?: string[]) => ({
  id,
  action: 'allow',
  from,
  to: ['10.0.0.0/8'],
  ...(via && { via }),
})
export const publish = (kit: Kit, rules: object[]) =>
  kit.admin.publishPolicy({ body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules } } })

let sequence = 0
export const report = (samples: object[], more: object = {}) => {
  const end = Date.now()
  return {
    report_id: newUuid(),
    boot_id: 'boot-1',
    sequence: ++sequence,
    interval_start: new Date(end - 60_000).toISOString(),
    interval_end: new Date(end).toISOString(),
    samples: samples as {
      session_id: string
      device_id: string
      state: 'active' | 'ended'
      rx_bytes: number
      tx_bytes: number
    }[],
    ...more,
  }
}
export const newSession = () => encodeId('vpn_session', newUuid())
