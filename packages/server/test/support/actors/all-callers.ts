import { contract, type Endpoint, type Operation } from '@holdfast/contract'
import { scopeParameters } from '@holdfast/contract/endpoint'
import { examples } from '@holdfast/contract/examples'
import { scimUrns } from '@holdfast/contract/scim-shapes'
import { type CredentialKind, errorStatus, type Role } from '@holdfast/contract/vocabulary'
import { contentDigest } from '@holdfast/crypto'
import { signIn } from '@holdfast/sdk'
import { bearer, type Caller, call, operation, type Raw, type Reached } from '../clients/api-calls.ts'
import { adminPassword, type Kit } from '../deployment/deployment.ts'
import { type Population, populate, type Thing, things } from './sample-objects.ts'

export * from '../clients/api-calls.ts'
export { populate, type Thing, things } from './sample-objects.ts'

/** SCIM requests need the key of a directory; other requests use `otherwise`. */
export const speaking = ({ protocol }: Endpoint, own: Population, otherwise: Caller): Caller =>
  protocol === 'scim' ? own.provisioner : otherwise

/** The error code of a refusal and its request id, in any protocol. */
export function refusalIn({ status, json, headers }: Raw): { error: unknown; request_id: unknown } {
  const { error, request_id, schemas } = json
  if (JSON.stringify(schemas) !== JSON.stringify([scimUrns.error])) return { error, request_id }
  const [word] = Object.entries(errorStatus).find(([, its]) => String(its) === json.status) ?? [json.scimType]
  return { error: String(status) === json.status ? word : 'another status', request_id: headers['x-request-id'] }
}

/** Requests the challenge that begins an enrollment through an identity provider. */
export const challengeFrom = async (kit: Reached, caller: Caller): Promise<string> =>
  String((await call(kit, contract.listEnrollmentProviders, caller)).json.challenge)

/** Signs in the administrator. */
export async function sessionOn(kit: Kit): Promise<Caller> {
  const { cookie } = await signIn({
    baseUrl: kit.publicUrl,
    username: 'admin',
    password: adminPassword,
    dispatcher: kit.dispatcher,
  })
  return () => ({ cookie, origin: kit.publicUrl })
}

/** A deployment with a caller of every credential kind, and a second tenant whose objects must stay invisible. */
export async function createWorld(kit: Kit) {
  const own = await populate(kit, kit.admin)
  const foreign = await kit.newTenant()
  const others = await populate(kit, await kit.as('tenant_admin', foreign))
  const session = await sessionOn(kit)
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

/** The digest of the single chunk that contains the own pool's few peers. */
export const chunkOf = async (kit: Kit, { callers }: World): Promise<string> => {
  const path = '/v1/gateway/runtime/unified-policy'
  const { policy } = (await call(kit, { method: 'GET', path }, callers.gateway)).json as { policy: string }
  const { peers } = JSON.parse(Buffer.from(policy.split('.')[1] ?? '', 'base64url').toString())
  return contentDigest({ peers })
}

/** Fills the ids of a population into a path. */
export const fill = (path: string, ids: Record<string, string>): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? `missing_${name}`)

const thingOf: Readonly<Record<string, Thing>> = {
  tnt: 'tenant_id',
  pln: 'plan_id',
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
  dsr: 'source_id',
  sgn: 'signer_id',
  spc: 'spc_id',
  rel: 'release_id',
  pkg: 'package_id',
  lck: 'lock_id',
  wfr: 'workflow_run_id',
  sie: 'connector_id',
  exp: 'export_id',
  viw: 'view_id',
}
const exampleId = /"([a-z]{3})_01jxz3c9dqf7vr2m8k4s6t0b5w"/g
const exampleText = (name: Operation): string | undefined => JSON.stringify((examples as Record<string, unknown>)[name])

const callersAre: Partial<Record<CredentialKind, Thing>> = {
  device: 'device_id',
  gateway: 'gateway_id',
  enrollment_token: 'token_id',
  enrollment_challenge: 'token_id',
}
/** The objects that a request refers to: in its path, in the example of its body, and as its caller. */
export function thingsIn(name: Operation): Thing[] {
  const { path, access, protocol } = operation(name)
  const inPath = things.filter((thing) => path.includes(`{${thing}}`))
  const inBody = [...(exampleText(name) ?? '').matchAll(exampleId)].map(([, prefix = '']) => thingOf[prefix])
  const kinds = access.by === 'anyone' ? [] : access.by
  const inScim = protocol === 'scim' ? (['scim_user_id', 'scim_group_id'] as const) : []
  const asCaller = kinds.map((kind) => callersAre[kind])
  return [...inPath, ...inBody, ...inScim, ...asCaller].filter((thing) => thing !== undefined)
}

/** The required query of a write. */
export const exampleQuery = (name: Operation): string => queries[name] ?? ''
const queries: Partial<Record<Operation, string>> = {
  uploadPackage: '?platform=linux&arch=arm64&filename=client',
  exportOperations: '?kind=inventory',
}

/** The contract's example of a body, with the ids of a population; undefined without a body. */
export const exampleBody = (name: Operation, ids: Record<string, string>): unknown => {
  if (operation(name).upload) return Buffer.from('a package')
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
