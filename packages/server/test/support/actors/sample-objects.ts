import { contract } from '@holdfast/contract'
import { generateKey } from '@holdfast/crypto'
import type { Client } from '@holdfast/sdk'
import type { TenantId } from '../../../src/kernel/actor.ts'
import { decodeId, encodeId } from '../../../src/kernel/ids.ts'
import { bearer, type Caller, call } from '../clients/api-calls.ts'
import type { Kit } from '../deployment/deployment.ts'
import { contentOf, upload } from '../domain/releases.ts'
import { snapshotOf } from '../providers/directory-snapshots.ts'
import { newCsr } from './certificate-requests.ts'
import { enrollRaw, type RawDevice } from './devices.ts'

/** The kinds of objects of a population, by the names of their path parameters, in order of creation. */
export const objectKinds = [
  'tenant_id',
  'plan_id',
  'user_id',
  'group_id',
  'token_id',
  'device_id',
  'pool_id',
  'gateway_id',
  'key_id',
  'notification_id',
  'provider_id',
  'source_id',
  'release_id',
  'package_id',
  'scim_user_id',
  'scim_group_id',
  'bundle_id',
  'run_id',
  'session_id',
  'signer_id',
  'spc_id',
  'lock_id',
  'workflow_run_id',
  'event_id',
  'connector_id',
  'export_id',
  'legal_hold_id',
  'view_id',
  'draft_id',
] as const
export type ObjectKind = (typeof objectKinds)[number]
export type ObjectIds = Record<ObjectKind, string>
export type SampleObjects = { ids: ObjectIds; device: RawDevice; token: string; secret: string; provisioner: Caller }

/** Creates one object of each kind in a tenant through the API, or the wanted ones and those that they need. */
export async function makeSampleObjects(
  kit: Kit,
  client: Client,
  wanted: readonly ObjectKind[] = objectKinds,
): Promise<SampleObjects> {
  const named = (noun: string) => `${noun}-${Math.random().toString(36).slice(2)}`
  const made: Partial<ObjectIds> = {}
  const more: Partial<Omit<SampleObjects, 'ids'>> = {}
  const idOf = async (thing: ObjectKind): Promise<string> => {
    made[thing] ??= await make[thing]()
    return made[thing]
  }
  /** The credential with which an identity provider pushes users. */
  const provisioner = async (): Promise<Caller> => {
    const body = { name: 'provisioner', role: 'tenant_admin', directory: named('directory') } as const
    more.provisioner ??= bearer((await client.createApiKey({ body })).secret)
    return more.provisioner
  }
  const make: Record<ObjectKind, () => Promise<string>> = {
    tenant_id: async () => (await client.me()).tenant_id,
    // Plans belong to no tenant; an administrator of the deployment creates them.
    plan_id: async () =>
      (await kit.admin.createPlan({ body: { name: named('plan'), limits: { users: 1000 }, features: [] } })).plan_id,
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
    view_id: async () =>
      (await client.createView({ body: { list: 'devices', name: named('view'), query: {}, shared: true } })).view_id,
    draft_id: async () =>
      (await client.createPolicyDraft({ body: { name: named('draft'), text: '{"rules": []}' } })).draft_id,
    // An address for documentation (RFC 5737); no request is sent to it.
    provider_id: async () => {
      const oidc = { issuer: 'https://192.0.2.1', client_id: 'holdfast' }
      const body = { name: named('provider'), kind: 'oidc', enabled: false, oidc } as const
      return (await client.createIdentityProvider({ body })).provider_id
    },
    scim_user_id: async () => {
      const { json } = await call(kit, contract.createScimUser, await provisioner(), { userName: named('user') })
      return String(json.id)
    },
    scim_group_id: async () => {
      const { json } = await call(kit, contract.createScimGroup, await provisioner(), { displayName: named('group') })
      return String(json.id)
    },
    // No request leaves this machine.
    source_id: async () => {
      const body = { kind: 'okta', issuer: 'https://localhost', client_id: '0oa1', credential: nobodysKey } as const
      return (await client.createDirectorySource({ body: { ...body, provider: named('directory') } })).source_id
    },
    release_id: async () => {
      const version = `1.${Math.floor(Math.random() * 1e8)}.${Math.floor(Math.random() * 1e8)}`
      return (await client.createRelease({ body: { version, channel: 'canary' } })).release_id
    },
    package_id: async () => {
      const release_id = await idOf('release_id')
      return (await upload(client, release_id, contentOf(release_id), { filename: named('client') })).package.package_id
    },
    // No request leaves this machine: the address is loopback, to which requests are refused.
    connector_id: async () => {
      const body = {
        kind: 'syslog_tls',
        name: named('siem'),
        format: 'json',
        enabled: false,
        host: 'localhost',
      } as const
      return (await client.createSiemConnector({ body })).connector.connector_id
    },
    export_id: async () => {
      const stream_id = crypto.randomUUID()
      const connector_id = decodeId('siem_connector', await idOf('connector_id')) ?? ''
      const tenant_id = decodeId('tenant', (await client.me()).tenant_id) as TenantId
      const [from_at, to_at] = [new Date(0), new Date(1)]
      const ended = { state: 'finished', finished_at: new Date(), from_at, to_at } as const
      await kit.db.inTenant(tenant_id, (tx) =>
        tx
          .insertInto('siem_streams')
          .values({ tenant_id, stream_id, connector_id, ...ended })
          .execute(),
      )
      return encodeId('siem_export', stream_id)
    },
    bundle_id: async () => {
      const policy = { schema: 'holdfast.policy/1', rules: [] } as const
      return (await client.publishPolicy({ body: { channel: 'stable', policy } })).bundle_id
    },
    run_id: () => dryRunOf(client),
    session_id: async () => encodeId('vpn_session', crypto.randomUUID()),
    // A purpose has at most one pending key.
    signer_id: async () => {
      const [pending] = (await client.listSigners({ query: { purpose: 'posture', state: 'pending' } })).items
      return (pending ?? (await client.createSigner({ body: { purpose: 'posture' } }))).signer_id
    },
    event_id: async () => {
      await idOf('user_id')
      return (await client.listAuditEvents({ query: { limit: 1, kind: 'user.changed' } })).items[0]!.event_id
    },
    // A class that tests with a population do not purge.
    legal_hold_id: async () =>
      (await client.placeLegalHold({ body: { reason: 'proceedings 12-34', classes: ['metering'] } })).legal_hold_id,
    spc_id: async () => {
      const body = { csr: await newCsr(), device_id: await idOf('device_id') }
      return (await client.issueSpc({ body })).spc.spc_id
    },
    // The lock's target is a new group, so that it blocks no other object of the population.
    lock_id: async () => {
      const { group } = await client.changeGroup({ body: { operation: 'create', group: { name: named('locked') } } })
      const target = { type: 'group', id: group.group_id } as const
      return (await client.createLock({ body: { target, reason: 'for tests' } })).lock.lock_id
    },
    // The run waits for a second person's approval and does nothing until then.
    workflow_run_id: async () => {
      const body = { workflow: 'rotate_trust_anchors', params: { mode: 'emergency' } } as const
      return (await client.runWorkflow({ body })).run.workflow_run_id!
    },
  }
  for (const thing of wanted) await idOf(thing)
  return onlyWhatIsThere<SampleObjects>({ ids: onlyWhatIsThere<ObjectIds>(made), ...more })
}

const nobodysKey = JSON.stringify(generateKey('ES256').privateJwk)
const canBeMade: readonly (string | symbol)[] = [...objectKinds, 'device', 'token', 'secret', 'provisioner']
/** Throws on access to an object that was not created: the test must list it. */
const onlyWhatIsThere = <T extends object>(made: Partial<T>): T =>
  new Proxy(made as T, {
    get: (object, name) => {
      if (name in object || !canBeMade.includes(name)) return Reflect.get(object, name)
      throw new Error(`no ${String(name)} was made here: name it where the population is made`)
    },
  })

const dryRuns = new WeakMap<Client, Promise<string>>()
/** A dry run, which no test changes: one for all populations of a client. */
function dryRunOf(client: Client): Promise<string> {
  const made = async () => {
    const run = await client.ingestDirectorySnapshot({ body: { ...snapshotOf([]), dry_run: true } })
    return run.run_id
  }
  const known = dryRuns.get(client) ?? made()
  dryRuns.set(client, known)
  return known
}
