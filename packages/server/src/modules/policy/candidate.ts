import { POLICY_LIMITS } from '@holdfast/contract/policy-document'
import { contentDigest } from '@holdfast/crypto'
import {
  type CompiledPolicy,
  checkDocument,
  compilePolicy,
  type DocumentError,
  type GatewayKnowledge,
  type Lookup,
  MAX_DOCUMENT_ERRORS,
  type PolicyTestReport,
  type References,
  type ResolvedPolicy,
  referencesOf,
  resolveDocument,
  runPolicyTests,
  unknownToGateways,
} from '@holdfast/policy'
import type { Database, Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { AppError } from '../../kernel/app-error.ts'
import { decodeId, encodeId } from '../../kernel/ids.ts'
import * as directory from './directory.queries.ts'

/** A document that was parsed, resolved, compiled and tested, but not published. */
export type Candidate = {
  document: object
  digest: string
  resolved: ResolvedPolicy
  compiled: CompiledPolicy
  tests: PolicyTestReport
}

export function createCandidates({
  db,
  gatewaysKnow,
  now,
}: {
  db: Database
  gatewaysKnow: GatewayKnowledge
  now: () => Date
}) {
  return async (tenant: TenantId, value: unknown): Promise<Candidate | { errors: DocumentError[] }> => {
    if (isTooLarge(value)) return { errors: [tooLarge] }
    const checked = checkDocument(value)
    if ('errors' in checked) return checked
    const { document, written } = checked
    // The stored form can be larger than the written one, and must be accepted again by a rollback.
    if (document !== value && isTooLarge(document)) return { errors: [tooLarge] }
    const unknown = unknownToGateways(document, gatewaysKnow)
    if (unknown.length > 0) return { errors: unknown.slice(0, MAX_DOCUMENT_ERRORS) }
    const references = referencesOf(document)
    const isAlone = Object.values(references).every((names) => names.size === 0)
    const lookup = isAlone ? nobody : await db.inTenant(tenant, (tx) => lookUp(tx, tenant, references))
    const result = resolveDocument(document, lookup)
    if ('errors' in result)
      return { errors: result.errors.map(({ field, message }) => ({ field: written(field), message })) }
    const { resolved } = result
    const compiled = compilePolicy(resolved)
    const tests = runPolicyTests(compiled, document.tests ?? [], {
      groupsOfUser: (id) => lookup.groupsOf.get(id) ?? [],
      now: now().getTime(),
    })
    return { document, digest: contentDigest(document), resolved, compiled, tests }
  }
}
const isTooLarge = (value: unknown): boolean => Buffer.byteLength(JSON.stringify(value)) > POLICY_LIMITS.bytes
const tooLarge: DocumentError = {
  field: '',
  message: 'the document is larger than 1 MiB; use groups, tags and resources to make it shorter',
}
export type ReadCandidate = ReturnType<typeof createCandidates>

/** Throws 422 with every error at its position in the body. */
export function refuseDocument(errors: readonly DocumentError[]): never {
  const placed = errors.map((e) => ({ field: e.field ? `policy.${e.field}` : 'policy', message: e.message }))
  throw new AppError('validation_error', `${placed[0]!.field}: ${placed[0]!.message}`, { errors: placed })
}

/** Ids of the names in a document: UUIDs, except for pools, which have TypeIDs because devices get them. */
type Found = Lookup & { groupsOf: ReadonlyMap<string, readonly string[]> }
const nobody: Found = {
  users: new Map(),
  groups: new Map(),
  devices: new Map(),
  pools: new Map(),
  groupsOf: new Map(),
}

/** Most groups of the directory among which a misspelt name is searched. */
const maxSuggested = 5_000

/** Looks up only the names that the document uses, and names to suggest for an unknown group. */
async function lookUp(tx: Tx, tenant: TenantId, references: References): Promise<Found> {
  type Find = (tx: Tx, tenant: TenantId, names: string[], ids: string[]) => Promise<{ name: string; id: string }[]>
  const find = async (kind: 'users' | 'groups' | 'pools', noun: 'user' | 'group' | 'gateway_pool', by: Find) => {
    const names = [...references[kind].keys()]
    const ids = names.map((name) => decodeId(noun, name) ?? '')
    return new Map(names.length > 0 ? (await by(tx, tenant, names, ids)).map((r) => [r.name, r.id]) : [])
  }
  const devices = [...references.devices.keys()].map((name) => [name, decodeId('device', name) ?? ''] as const)
  const ids = devices.map(([, id]) => id)
  const known = new Set(ids.length > 0 ? (await directory.devicesNamed(tx, tenant, ids)).map((d) => d.id) : [])
  const pools = await find('pools', 'gateway_pool', directory.poolsNamed)
  const users = await find('users', 'user', directory.usersNamed)
  const groups = await find('groups', 'group', directory.groupsNamed)
  const hasUnknown = groups.size < references.groups.size
  const members = users.size > 0 ? await directory.groupsOfUsers(tx, tenant, [...users.values()]) : []
  return {
    users,
    groups,
    ...(hasUnknown && { groupNames: await directory.groupNames(tx, tenant, maxSuggested) }),
    devices: new Map(devices.filter(([, id]) => known.has(id))),
    pools: new Map([...pools].map(([name, id]) => [name, encodeId('gateway_pool', id)])),
    groupsOf: new Map(members.map((m) => [m.user_id, m.group_ids])),
  }
}
