import {
  type CompiledPolicy,
  type ConnectionContext,
  type Decision,
  type DeviceFacts,
  decide,
  evaluateChecks,
  parseTarget,
} from '@holdfast/policy'
import type { Database } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { failField } from '../../kernel/app-error.ts'
import { idOf, missing } from '../../kernel/ids.ts'
import type { Checks, Fleet, FleetDevice } from '../devices/index.ts'
import { userExists } from '../identity/index.ts'
import { devicesNamed, groupsOfUsers, reportOfDevice } from './directory.queries.ts'
import type { PolicyStore } from './store.ts'
import { checksOf, factsOf } from './tenant-policy.ts'

export type Question = {
  device_id?: string
  user_id?: string
  target: string
  at?: string
  source_ip?: string
  country?: string
  mfa_at?: string
}

/** Who asks: a device as the fleet knows it, or a user without a device. */
type Asker = { facts: DeviceFacts; device: FleetDevice | undefined; out: string | undefined }

export function createQuestions({
  db,
  fleet,
  store,
  now,
}: {
  db: Database
  fleet: Fleet
  store: PolicyStore
  now: () => Date
}) {
  /** `checks`: those of a policy that is not published. */
  async function askerOf(tenant: TenantId, q: Question, checks?: Checks): Promise<Asker> {
    if ((q.device_id === undefined) === (q.user_id === undefined))
      failField('device_id', 'name a device_id or a user_id, one of the two')
    if (q.device_id !== undefined) {
      const id = idOf('device', q.device_id)
      const device = (await fleet.all(tenant, checks)).get(id)
      if (!device) return revoked(tenant, id)
      return {
        facts: factsOf(device),
        device,
        out: device.usable ? undefined : 'the device is not active or its user is suspended',
      }
    }
    const userId = idOf('user', q.user_id!)
    const group_ids = await db.inTenant(tenant, async (tx) => {
      if (!(await userExists(tx, tenant, userId))) missing('user')
      return (await groupsOfUsers(tx, tenant, [userId]))[0]?.group_ids ?? []
    })
    const known = { device_id: '', user_id: userId, group_ids, tags: [], platform: 'other', posture: null }
    return { facts: known, device: undefined, out: undefined }
  }

  /** The fleet need not know the last report; what is shown of it is what was reported. */
  async function withReport(tenant: TenantId, asker: Asker): Promise<Asker> {
    if (!asker.device?.posture) return asker
    const { deviceId } = asker.device
    const posture = await db.inTenant(tenant, (tx) => reportOfDevice(tx, tenant, deviceId))
    return { ...asker, facts: { ...asker.facts, posture } }
  }

  /** The fleet knows only devices that are not revoked. */
  async function revoked(tenant: TenantId, id: string): Promise<Asker> {
    const [known] = await db.inTenant(tenant, (tx) => devicesNamed(tx, tenant, [id]))
    if (!known) missing('device')
    const facts = { device_id: id, user_id: null, group_ids: [], tags: [], platform: 'other', posture: null }
    return { facts, device: undefined, out: 'the device is revoked' }
  }

  /** Of a second factor the gateways know what we know, unless the question says otherwise. */
  const contextOf = (q: Question, device: FleetDevice | undefined): ConnectionContext => ({
    at: q.at === undefined ? now().getTime() : Date.parse(q.at),
    ...(q.source_ip !== undefined && { source_ip: q.source_ip }),
    ...(q.country !== undefined && { country: q.country }),
    ...(q.mfa_at !== undefined ? { mfa_at: Date.parse(q.mfa_at) } : device?.mfaAt != null && { mfa_at: device.mfaAt }),
  })
  const targetOf = (q: Question, compiled: CompiledPolicy) => {
    const target =
      parseTarget(q.target) ??
      failField('target', 'is not a resource, host, address or network, optionally with :protocol/port')
    const { resources = {}, hosts = {} } = compiled.resolved.document
    if ('name' in target && !Object.hasOwn(resources, target.name) && !Object.hasOwn(hosts, target.name))
      failField('target', `the policy has no resource or host "${target.name}"`)
    return target
  }
  const decideFor = (compiled: CompiledPolicy, asker: Asker, q: Question): Decision =>
    asker.out === undefined
      ? decide(compiled, asker.facts, contextOf(q, asker.device), targetOf(q, compiled))
      : { decision: 'deny', rule_id: null, reason: asker.out, valid_until: null, rules: [], would_allow: [] }

  return {
    explain: async (tenant: TenantId, q: Question) => {
      const asker = await withReport(tenant, await askerOf(tenant, q))
      const policy = await store.at(tenant)
      const channel = asker.device ? policy.channelOf(asker.device) : 'stable'
      const version = policy.versionOn(channel)
      const decision = decideFor(version.compiled, asker, q)
      const posture = evaluateChecks(version.compiled, asker.facts, contextOf(q, asker.device).at)
      return { decision, channel, version: version.version, posture }
    },
    /** The same question under two policies; a target that only one of them knows is denied by the other. */
    compare: async (tenant: TenantId, q: Question, after: CompiledPolicy) => {
      const asker = await askerOf(tenant, q, checksOf([after]))
      const policy = await store.at(tenant)
      const before = policy.versionOn(asker.device ? policy.channelOf(asker.device) : 'stable').compiled
      return { before: decideOrUnknown(() => decideFor(before, asker, q)), after: decideFor(after, asker, q) }
    },
  }
}

function decideOrUnknown(work: () => Decision): Decision {
  try {
    return work()
  } catch {
    return {
      decision: 'deny',
      rule_id: null,
      reason: 'the published policy does not know this target',
      valid_until: null,
      rules: [],
      would_allow: [],
    }
  }
}
export type Questions = ReturnType<typeof createQuestions>
export type Explanation = Awaited<ReturnType<Questions['explain']>>
