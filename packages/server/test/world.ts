import { contract, type Endpoint, type Operation } from '@holdfast/contract'
import { scopeParameters } from '@holdfast/contract/endpoint'
import { examples } from '@holdfast/contract/examples'
import { scimUrns } from '@holdfast/contract/scim-shapes'
import { type CredentialKind, errorStatus, type Role } from '@holdfast/contract/vocabulary'
import { contentDigest, createProof, generateKey, type PrivateJwk } from '@holdfast/crypto'
import { type Client, signIn } from '@holdfast/sdk'
import { request } from 'undici'
import type { TenantId } from '../src/kernel/actor.ts'
import { decodeId, encodeId } from '../src/kernel/ids.ts'
import { snapshotOf } from './directories.ts'
import { adminPassword, type Kit } from './kit.ts'

export type Raw = {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  json: Record<string, unknown>
}
/** Makes the headers of one request: a credential, and where it needs one, a proof. */
export type Caller = (method: string, url: string) => Record<string, string>

export const bearer =
  (token: string): Caller =>
  () => ({ authorization: `Bearer ${token}` })

/** What a request is sent to: the public URL, by way of one replica. */
export type Reached = Pick<Kit, 'publicUrl' | 'dispatcher'>

/** A request as given, to the public URL of a kit. */
export async function send(
  kit: Reached,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: string | Buffer,
): Promise<Raw> {
  const response = await request(kit.publicUrl + path, {
    method: method as 'GET',
    headers,
    dispatcher: kit.dispatcher,
    ...(body !== undefined && { body }),
  })
  const text = await response.body.text()
  return {
    status: response.statusCode,
    headers: response.headers,
    text,
    json: text.startsWith('{') ? JSON.parse(text) : {},
  }
}

export const call = (
  kit: Reached,
  e: { method: string; path: string },
  caller: Caller | null,
  body?: unknown,
  query = '',
): Promise<Raw> => {
  const url = kit.publicUrl + e.path
  const json = body === undefined ? {} : { 'content-type': 'application/json' }
  return send(
    kit,
    e.method,
    e.path + query,
    { ...json, ...caller?.(e.method, url) },
    body === undefined ? undefined : JSON.stringify(body),
  )
}

export const operation = (name: Operation): Endpoint => contract[name]

export type RawDevice = { id: string; credential: string; key: PrivateJwk; caller: Caller }
export const deviceCaller =
  (credential: string, key: PrivateJwk, now = () => new Date()): Caller =>
  (method, url) => ({
    authorization: `Bearer ${credential}`,
    dpop: createProof(key, { method, url, accessToken: credential, now: now() }),
  })

/** Enrolls a device with a fresh key, without the SDK. */
export async function enrollRaw(kit: Reached, token: string, name = 'laptop'): Promise<RawDevice> {
  const { privateJwk } = generateKey('ES256')
  const answer = await call(kit, contract.enroll, deviceCaller(token, privateJwk), {
    device: { name, platform: 'linux' },
  })
  if (answer.status !== 201) throw new Error(`enrollment refused: ${answer.status} ${answer.text}`)
  const credential = String(answer.json.credential)
  return {
    id: String(answer.json.device_id),
    credential,
    key: privateJwk,
    caller: deviceCaller(credential, privateJwk),
  }
}

/** One object of each kind in a tenant, by the name of its path parameter, made through the API. */
export async function populate(kit: Kit, client: Client) {
  const { user } = await client.changeUser({
    body: { operation: 'create', user: { username: `user-${Math.random().toString(36).slice(2)}` } },
  })
  const { group } = await client.changeGroup({
    body: {
      operation: 'create',
      group: { name: `group-${Math.random().toString(36).slice(2)}`, members: [user.user_id] },
    },
  })
  const { secret: token, enrollment_token } = await client.generateToken({
    body: { max_uses: 0, user_id: user.user_id },
  })
  const device = await enrollRaw(kit, token)
  const pool = await client.createGatewayPool({
    body: { name: `pool-${Math.random().toString(36).slice(2)}`, region: { code: 'eu' } },
  })
  const { gateway, secret } = await client.createGateway({
    params: { pool_id: pool.pool_id },
    body: { name: `gw-${Math.random().toString(36).slice(2)}` },
  })
  const { api_key } = await client.createApiKey({ body: { name: 'key', role: 'viewer' } })
  const tenant = decodeId('tenant', (await client.me()).tenant_id) as TenantId
  const notification = await kit.db.inTenant(tenant, (tx) =>
    kit.app.notifications.notify(tx, tenant, {
      kind: 'expiring',
      severity: 'info',
      title: 'An API key expires',
      detail: 'Replace it.',
      subject: { type: 'api_key', id: api_key.key_id, name: 'key' },
    }),
  )
  // At an address of documentation (RFC 5737), which no request is ever sent to.
  const { provider_id } = await client.createIdentityProvider({
    body: {
      name: `provider-${Math.random().toString(36).slice(2)}`,
      kind: 'oidc',
      enabled: false,
      oidc: { issuer: 'https://192.0.2.1', client_id: 'holdfast' },
    },
  })
  const { secret: provisioner } = await client.createApiKey({
    body: { name: 'provisioner', role: 'tenant_admin', directory: `directory-${Math.random().toString(36).slice(2)}` },
  })
  const provisioned = await provisionedBy(kit, bearer(provisioner))
  const bundle = await client.publishPolicy({
    body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules: [] } },
  })
  return {
    device,
    token,
    secret,
    provisioner: bearer(provisioner),
    ids: {
      ...provisioned,
      user_id: user.user_id,
      group_id: group.group_id,
      token_id: enrollment_token.token_id,
      device_id: device.id,
      pool_id: pool.pool_id,
      gateway_id: gateway.gateway_id,
      key_id: api_key.key_id,
      bundle_id: bundle.bundle_id,
      run_id: await dryRunOf(client),
      notification_id: encodeId('notification', notification!),
      provider_id,
      session_id: encodeId('vpn_session', crypto.randomUUID()),
    },
  }
}

/** A user and a group that an identity provider pushed. */
async function provisionedBy(kit: Reached, caller: Caller) {
  const name = Math.random().toString(36).slice(2)
  const user = await call(kit, contract.createScimUser, caller, { userName: `user-${name}` })
  const group = await call(kit, contract.createScimGroup, caller, { displayName: `group-${name}` })
  return { scim_user_id: String(user.json.id), scim_group_id: String(group.json.id) }
}

/** SCIM is spoken by the key of a directory alone. */
export const speaking = ({ protocol }: Endpoint, { provisioner }: Population, otherwise: Caller): Caller =>
  protocol === 'scim' ? provisioner : otherwise

/** The word for a refusal and the request that it names, in whatever protocol. */
export function refusalIn({ status, json, headers }: Raw): { error: unknown; request_id: unknown } {
  const { error, request_id, schemas } = json
  if (JSON.stringify(schemas) !== JSON.stringify([scimUrns.error])) return { error, request_id }
  const [word] = Object.entries(errorStatus).find(([, its]) => String(its) === json.status) ?? [json.scimType]
  return { error: String(status) === json.status ? word : 'another status', request_id: headers['x-request-id'] }
}

const dryRuns = new WeakMap<Client, Promise<string>>()
/** A run that changes nothing and that nothing changes: one for all populations of a caller. */
function dryRunOf(client: Client): Promise<string> {
  const made = async () => {
    const run = await client.ingestDirectorySnapshot({ body: { ...snapshotOf([]), dry_run: true } })
    return run.run_id
  }
  const known = dryRuns.get(client) ?? made()
  dryRuns.set(client, known)
  return known
}

export type Population = Awaited<ReturnType<typeof populate>>

/** What an enrollment by an identity provider begins with. */
export const challengeFrom = async (kit: Reached, caller: Caller): Promise<string> =>
  String((await call(kit, contract.listEnrollmentProviders, caller)).json.challenge)

/** A deployment with a caller of every credential kind, and a second tenant whose objects nobody here may see. */
export async function createWorld(kit: Kit) {
  const own = await populate(kit, kit.admin)
  const foreign = await kit.newTenant()
  const others = await populate(kit, await kit.as('tenant_admin', foreign))
  const { cookie } = await signIn({
    baseUrl: kit.publicUrl,
    username: 'admin',
    password: adminPassword,
    dispatcher: kit.dispatcher,
  })
  const session: Caller = () => ({ cookie, origin: kit.publicUrl })
  const { secret: spare } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const callers: Record<CredentialKind, Caller> = {
    session,
    api_key: bearer(kit.adminKey),
    device: own.device.caller,
    gateway: bearer(own.secret),
    enrollment_token: bearer(spare),
    enrollment_challenge: bearer(await challengeFrom(kit, bearer(spare))),
  }
  const keys = new Map<Role, Caller>()
  return {
    own,
    others,
    foreign,
    callers,
    byRole: async (role: Role): Promise<Caller> => {
      const known = keys.get(role) ?? bearer(await kit.keyFor(role))
      keys.set(role, known)
      return known
    },
  }
}
export type World = Awaited<ReturnType<typeof createWorld>>

/** The digest of the one chunk that the own pool's few peers are. */
export const chunkOf = async (kit: Kit, { callers }: World): Promise<string> => {
  const path = '/v1/gateway/runtime/unified-policy'
  const { policy } = (await call(kit, { method: 'GET', path }, callers.gateway)).json as { policy: string }
  const { peers } = JSON.parse(Buffer.from(policy.split('.')[1] ?? '', 'base64url').toString())
  return contentDigest({ peers })
}

/** The path of an endpoint with ids of a population in it. */
export const fill = (path: string, ids: Record<string, string>): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? `missing_${name}`)

const keyOfPrefix: Record<string, string> = {
  usr: 'user_id',
  grp: 'group_id',
  dev: 'device_id',
  tok: 'token_id',
  key: 'key_id',
  pol: 'bundle_id',
  gwp: 'pool_id',
  gwy: 'gateway_id',
  vse: 'session_id',
  idp: 'provider_id',
  run: 'run_id',
}
/** The contract's example of a body, with the ids of a population; undefined where there is no body. */
export const exampleBody = (name: Operation, ids: Record<string, string>): unknown => {
  const text = JSON.stringify((examples as Record<string, unknown>)[name])
  return (
    text &&
    JSON.parse(
      text.replaceAll(/"([a-z]{3})_01jxz3c9dqf7vr2m8k4s6t0b5w"/g, (id, prefix: string) => {
        const known = ids[keyOfPrefix[prefix] ?? '']
        return known ? JSON.stringify(known) : id
      }),
    )
  )
}
export { scopeParameters }
