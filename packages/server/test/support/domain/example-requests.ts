import type { Operation } from '@holdfast/contract'
import { examples } from '@holdfast/contract/examples'
import type { CredentialKind } from '@holdfast/contract/vocabulary'
import { type ObjectKind, objectKinds } from '../actors/sample-objects.ts'
import { operation } from '../clients/api-calls.ts'

/** Fills the ids of a population into a path. */
export const fillPath = (path: string, ids: Record<string, string>): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? `missing_${name}`)

const kindOfPrefix: Readonly<Record<string, ObjectKind>> = {
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
  drf: 'draft_id',
}

const exampleId = /"([a-z]{3})_01jxz3c9dqf7vr2m8k4s6t0b5w"/g

const exampleText = (name: Operation): string | undefined => JSON.stringify((examples as Record<string, unknown>)[name])

const callersAre: Partial<Record<CredentialKind, ObjectKind>> = {
  device: 'device_id',
  gateway: 'gateway_id',
  enrollment_token: 'token_id',
  enrollment_challenge: 'token_id',
}

/** The objects that a request refers to: in its path, in the example of its body, and as its caller. */
export function objectKindsIn(name: Operation): ObjectKind[] {
  const { path, access, protocol } = operation(name)
  const inPath = objectKinds.filter((thing) => path.includes(`{${thing}}`))
  const inBody = [...(exampleText(name) ?? '').matchAll(exampleId)].map(([, prefix = '']) => kindOfPrefix[prefix])
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
        const known = ids[kindOfPrefix[prefix] ?? '']
        return known ? JSON.stringify(known) : id
      }),
    )
  )
}
