import { contract, type Endpoint, type Operation } from '@holdfast/contract'
import { scopeParameters } from '@holdfast/contract/endpoint'
import { examples } from '@holdfast/contract/examples'
import type { CredentialKind, Role } from '@holdfast/contract/vocabulary'
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

/** What a population has one of, by the name of its path parameter, in the order in which it is made. */
export const things = [
  'user_id',
  'group_id',
  'token_id',
  'device_id',
  'pool_id',
  'gateway_id',
  'key_id',
  'notification_id',
  'provider_id',
  'bundle_id',
  'run_id',
  'session_id',
] as const
export type Thing = (typeof things)[number]
export type Ids = Record<Thing, string>
export type Population = { ids: Ids; device: RawDevice; token: string; secret: string }

/** One object of each kind in a tenant, or of those that are wanted and what these need, made through the API. */
export async function populate(kit: Kit, client: Client, wanted: readonly Thing[] = things): Promise<Population> {
  const named = (noun: string) => `${noun}-${Math.random().toString(36).slice(2)}`
  const made: Partial<Ids> = {}
  const more: Partial<Omit<Population, 'ids'>> = {}
  const idOf = async (thing: Thing): Promise<string> => {
    made[thing] ??= await make[thing]()
    return made[thing]
  }
  const make: Record<Thing, () => Promise<string>> = {
    user_id: async () => {
      const { user } = await client.changeUser({ body: { operation: 'create', user: { username: named('user') } } })
      return user.user_id
    },
    group_id: async () => {
      const members = [await idOf('user_id')]
      const { group } = await client.changeGroup({
        body: { operation: 'create', group: { name: named('group'), members } },
      })
      return group.group_id
    },
    token_id: async () => {
      const user_id = await idOf('user_id')
      const { secret, enrollment_token } = await client.generateToken({ body: { max_uses: 0, user_id } })
      more.token = secret
      return enrollment_token.token_id
    },
    device_id: async () => {
      await idOf('token_id')
      more.device = await enrollRaw(kit, more.token!)
      return more.device.id
    },
    pool_id: async () =>
      (await client.createGatewayPool({ body: { name: named('pool'), region: { code: 'eu' } } })).pool_id,
    gateway_id: async () => {
      const params = { pool_id: await idOf('pool_id') }
      const { gateway, secret } = await client.createGateway({ params, body: { name: named('gw') } })
      more.secret = secret
      return gateway.gateway_id
    },
    key_id: async () => (await client.createApiKey({ body: { name: 'key', role: 'viewer' } })).api_key.key_id,
    notification_id: async () => {
      const id = await idOf('key_id')
      const tenant = decodeId('tenant', (await client.me()).tenant_id) as TenantId
      const notification = await kit.db.inTenant(tenant, (tx) =>
        kit.app.notifications.notify(tx, tenant, {
          kind: 'expiring',
          severity: 'info',
          title: 'An API key expires',
          detail: 'Replace it.',
          subject: { type: 'api_key', id, name: 'key' },
        }),
      )
      return encodeId('notification', notification!)
    },
    // At an address of documentation (RFC 5737), which no request is ever sent to.
    provider_id: async () => {
      const oidc = { issuer: 'https://192.0.2.1', client_id: 'holdfast' }
      const body = { name: named('provider'), kind: 'oidc', enabled: false, oidc } as const
      return (await client.createIdentityProvider({ body })).provider_id
    },
    bundle_id: async () => {
      const policy = { schema: 'holdfast.policy/1', rules: [] } as const
      return (await client.publishPolicy({ body: { channel: 'stable', policy } })).bundle_id
    },
    run_id: () => dryRunOf(client),
    session_id: async () => encodeId('vpn_session', crypto.randomUUID()),
  }
  for (const thing of wanted) await idOf(thing)
  return onlyWhatIsThere<Population>({ ids: onlyWhatIsThere<Ids>(made), ...more })
}

const canBeMade: readonly (string | symbol)[] = [...things, 'device', 'token', 'secret']
/** To ask for what was not made is a mistake of the test: it says so at once. */
const onlyWhatIsThere = <T extends object>(made: Partial<T>): T =>
  new Proxy(made as T, {
    get: (object, name) => {
      if (name in object || !canBeMade.includes(name)) return Reflect.get(object, name)
      throw new Error(`no ${String(name)} was made here: name it where the population is made`)
    },
  })

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

const thingOf: Readonly<Record<string, Thing>> = {
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
const exampleId = /"([a-z]{3})_01jxz3c9dqf7vr2m8k4s6t0b5w"/g
const exampleText = (name: Operation): string | undefined => JSON.stringify((examples as Record<string, unknown>)[name])

const callersAre: Partial<Record<CredentialKind, Thing>> = {
  device: 'device_id',
  gateway: 'gateway_id',
  enrollment_token: 'token_id',
  enrollment_challenge: 'token_id',
}
/** What a request speaks of: in its path, in the example of its body, and as its caller. */
export function thingsIn(name: Operation): Thing[] {
  const { path, access } = operation(name)
  const inPath = things.filter((thing) => path.includes(`{${thing}}`))
  const inBody = [...(exampleText(name) ?? '').matchAll(exampleId)].map(([, prefix = '']) => thingOf[prefix])
  const kinds = access.by === 'anyone' ? [] : access.by
  return [...inPath, ...inBody, ...kinds.map((kind) => callersAre[kind])].filter((thing) => thing !== undefined)
}

/** The contract's example of a body, with the ids of a population; undefined where there is no body. */
export const exampleBody = (name: Operation, ids: Record<string, string>): unknown => {
  const text = exampleText(name)
  return (
    text &&
    JSON.parse(
      text.replaceAll(exampleId, (id, prefix: string) => {
        const known = ids[thingOf[prefix] ?? '']
        return known ? JSON.stringify(known) : id
      }),
    )
  )
}
export { scopeParameters }
