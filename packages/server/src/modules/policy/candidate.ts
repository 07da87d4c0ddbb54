import { POLICY_LIMITS } from '@holdfast/contract/policy-document'
import { contentDigest } from '@holdfast/crypto'
import {
  type CompiledPolicy,
  checkDocument,
  compilePolicy,
  type DocumentError,
  type Lookup,
  type PolicyTestReport,
  type References,
  type ResolvedPolicy,
  referencesOf,
  resolveDocument,
  runPolicyTests,
} from '@holdfast/policy'
import type { Database, Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { AppError } from '../../kernel/app-error.ts'
import { decodeId, encodeId } from '../../kernel/ids.ts'
import * as directory from './directory.queries.ts'

/** A document that was read, resolved, compiled and tested: everything but published. */
export type Candidate = {
  document: object
  digest: string
  resolved: ResolvedPolicy
  compiled: CompiledPolicy
  tests: PolicyTestReport
}

export function createCandidates({ db, now }: { db: Database; now: () => Date }) {
  return async (tenant: TenantId, value: unknown): Promise<Candidate | { errors: DocumentError[] }> => {
    if (Buffer.byteLength(JSON.stringify(value)) > POLICY_LIMITS.bytes)
      return { errors: [{ field: '', message: 'is larger than 1 MiB' }] }
    const checked = checkDocument(value)
    if ('errors' in checked) return checked
    const { document } = checked
    const lookup = await db.inTenant(tenant, (tx) => lookUp(tx, tenant, referencesOf(document)))
    const result = resolveDocument(document, lookup)
    if ('errors' in result) return result
    const { resolved } = result
    const compiled = compilePolicy(resolved)
    const groups = await db.inTenant(tenant, (tx) => directory.groupsOfUsers(tx, tenant, Object.values(resolved.users)))
    const groupsOf = new Map(groups.map((g) => [g.user_id, g.group_ids]))
    const tests = runPolicyTests(compiled, document.tests ?? [], {
      groupsOfUser: (id) => groupsOf.get(id) ?? [],
      now: now().getTime(),
    })
    return { document, digest: contentDigest(document), resolved, compiled, tests }
  }
}
export type ReadCandidate = ReturnType<typeof createCandidates>

/** 422 with every error at its position in the body. */
export function refuseDocument(errors: readonly DocumentError[]): never {
  const placed = errors.map((e) => ({ field: e.field ? `policy.${e.field}` : 'policy', message: e.message }))
  throw new AppError('validation_error', `${placed[0]!.field}: ${placed[0]!.message}`, { errors: placed })
}

/** The ids behind the names: UUIDs, but for pools, which appear in what devices get, TypeIDs. */
async function lookUp(tx: Tx, tenant: TenantId, references: References): Promise<Lookup> {
  const named = (kind: 'users' | 'groups' | 'pools', noun: 'user' | 'group' | 'gateway_pool') => {
    const names = [...references[kind].keys()]
    return [names, names.map((name) => decodeId(noun, name) ?? '')] as const
  }
  const entries = (rows: { name: string; id: string }[]) => new Map(rows.map((r) => [r.name, r.id]))
  const devices = [...references.devices.keys()].map((name) => [name, decodeId('device', name) ?? ''] as const)
  const knownDevices = new Set(
    (
      await directory.devicesNamed(
        tx,
        tenant,
        devices.map(([, id]) => id),
      )
    ).map((d) => d.id),
  )
  const pools = await directory.poolsNamed(tx, tenant, ...named('pools', 'gateway_pool'))
  return {
    users: entries(await directory.usersNamed(tx, tenant, ...named('users', 'user'))),
    groups: entries(await directory.groupsNamed(tx, tenant, ...named('groups', 'group'))),
    devices: new Map(devices.filter(([, id]) => knownDevices.has(id))),
    pools: entries(pools.map((p) => ({ name: p.name, id: encodeId('gateway_pool', p.id) }))),
  }
}
