import {
  type CompiledPolicy,
  type ConnectionContext,
  type Decision,
  type DeviceFacts,
  decide,
  evaluateChecks,
  isHostName,
  parseTarget,
  type Target,
} from '@holdfast/policy'
import type { Database } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { failField } from '../../kernel/app-error.ts'
import { idOf, missing } from '../../kernel/ids.ts'
import { blockersOfUser, type Fleet, type FleetDevice, findUserState, type ReportedChecks } from '../devices/index.ts'
import { type ReadCandidate, refuseDocument } from './candidate.ts'
import { devicesNamed, groupsOfUsers, reportOfDevice } from './directory.queries.ts'
import type { PolicyStore } from './store.ts'
import { type Channel, checksOf, deviceFactsOf, type TenantPolicy } from './tenant-policy.ts'

export type PolicyQuestion = {
  device_id?: string
  user_id?: string
  target: string
  at?: string
  source_ip?: string
  country?: string
  mfa_at?: string
}

/** The policy that decides: that of a channel, or a document. Neither: the one delivered to the device. */
type Judging = { channel?: Channel; policy?: Record<string, unknown> }

/** Reason that prevents a connection: rules of the policy, or something outside of it. */
export type Blocker = {
  kind: 'policy' | 'device' | 'user' | 'lock' | 'credential' | 'gateway' | 'session'
  detail: string
}
/**
 * Subject of a question: a device as the fleet caches it, or a user without a device, with the reasons outside of the
 * policy that deny access.
 */
type Asker = { facts: DeviceFacts; device: FleetDevice | undefined; blocked: Blocker[] }
/**
 * Facts of the gateways module: for each pool (by pool_id), whether any of its gateways is offered to devices now;
 * until when gateways block a device; and the plan's session limit if it has no room for a new session in these pools
 * (null: in any pool).
 */
export type Availability = {
  poolsUp: (tenant: TenantId) => Promise<readonly { poolId: string; name: string; isUp: boolean }[]>
  blockedUntil: (tenant: TenantId, deviceId: string) => Promise<Date | undefined>
  sessionLimitFor: (
    tenant: TenantId,
    of: { device_id: string } | { user_id: string },
    poolIds: readonly string[] | null,
  ) => Promise<number | null>
}

export function createQuestions({
  db,
  fleet,
  store,
  readCandidate,
  gateways,
  now,
}: {
  db: Database
  fleet: Fleet
  store: PolicyStore
  readCandidate: ReadCandidate
  gateways: () => Availability
  now: () => Date
}) {
  /** `checks`: those of an unpublished policy. */
  async function askerOf(tenant: TenantId, q: PolicyQuestion, checks?: ReportedChecks): Promise<Asker> {
    if ((q.device_id === undefined) === (q.user_id === undefined))
      failField('device_id', 'give either device_id or user_id')
    if (q.device_id !== undefined) {
      const id = idOf('device', q.device_id)
      const device = (await fleet.all(tenant, checks)).get(id)
      if (!device) return revoked(tenant, id)
      return { facts: deviceFactsOf(device), device, blocked: device.blockersAt(now().getTime()).map(blockerOf) }
    }
    const userId = idOf('user', q.user_id!)
    const { group_ids, state, isLocked } = await db.inTenant(tenant, async (tx) => {
      const found = await findUserState(tx, tenant, userId)
      if (!found || found.state === 'deleted') return missing('user')
      const [groups] = await groupsOfUsers(tx, tenant, [userId])
      return { group_ids: groups?.group_ids ?? [], state: found.state, isLocked: found.tenant_locked }
    })
    const known = { device_id: '', user_id: userId, group_ids, tags: [], platform: 'other', posture: null }
    const blocked = blockersOfUser(state, isLocked).map(blockerOf)
    return { facts: known, device: undefined, blocked: blocked.map(ofUser) }
  }

  /** The fleet cache may lack parts of the last report, so the explanation shows the stored one. */
  async function withReport(tenant: TenantId, asker: Asker): Promise<Asker> {
    if (!asker.device?.posture) return asker
    const { deviceId } = asker.device
    const posture = await db.inTenant(tenant, (tx) => reportOfDevice(tx, tenant, deviceId))
    return { ...asker, facts: { ...asker.facts, posture } }
  }

  /** Looks up a revoked device, which the fleet cache does not have. */
  async function revoked(tenant: TenantId, id: string): Promise<Asker> {
    const [known] = await db.inTenant(tenant, (tx) => devicesNamed(tx, tenant, [id]))
    if (!known) missing('device')
    const facts = { device_id: id, user_id: null, group_ids: [], tags: [], platform: 'other', posture: null }
    return { facts, device: undefined, blocked: [{ kind: 'device', detail: 'the device is revoked' }] }
  }

  /** Gateways are assumed to know the same second factor as the server, unless the question states another time. */
  const contextOf = (q: PolicyQuestion, device: FleetDevice | undefined): ConnectionContext => ({
    at: q.at === undefined ? now().getTime() : Date.parse(q.at),
    ...(q.source_ip !== undefined && { source_ip: q.source_ip }),
    ...(q.country !== undefined && { country: q.country }),
    ...(q.mfa_at !== undefined ? { mfa_at: Date.parse(q.mfa_at) } : device?.mfaAt != null && { mfa_at: device.mfaAt }),
  })
  const decideFor = (compiled: CompiledPolicy, asker: Asker, q: PolicyQuestion): Decision =>
    decide(compiled, asker.facts, contextOf(q, asker.device), targetIn(compiled, q.target))
  /** Returns the decision of a document. A reason outside of the policy takes precedence. */
  const effectiveFor = (compiled: CompiledPolicy, asker: Asker, q: PolicyQuestion): Decision => {
    const [first] = asker.blocked
    return first ? { ...decidedByNone, reason: first.detail } : decideFor(compiled, asker, q)
  }

  /** Blocks if no pool of the decision has a gateway that is offered to devices now. */
  async function withoutGateway(tenant: TenantId, { decision, pools }: Decision): Promise<Blocker[]> {
    if (decision === 'deny') return []
    const known = await gateways().poolsUp(tenant)
    const through = pools === null ? known : known.filter((pool) => pools.includes(pool.poolId))
    if (through.some((pool) => pool.isUp)) return []
    const names = through.map((pool) => pool.name)
    const [only] = names
    const poolNames = names.slice(0, 10).join(', ')
    if (only === undefined) return [{ kind: 'gateway', detail: 'no enabled gateway pool leads to the target' }]
    const detail =
      names.length === 1 ? `no gateway of pool ${only} is up` : `no gateway of the pools ${poolNames} is up`
    return [{ kind: 'gateway', detail }]
  }
  async function keptOutBySession(tenant: TenantId, device: FleetDevice | undefined): Promise<Blocker[]> {
    const until = device && (await gateways().blockedUntil(tenant, device.deviceId))
    if (!until) return []
    return [
      {
        kind: 'session',
        detail: `its session was terminated, and gateways refuse the device until ${until.toISOString()}`,
      },
    ]
  }

  /** Blocks a new session for which the plan has no room. Metering would end it. */
  async function withoutRoom(tenant: TenantId, { facts, device }: Asker, { decision, pools }: Decision) {
    if (decision === 'deny') return []
    const of = device ? { device_id: device.deviceId } : { user_id: facts.user_id ?? '' }
    const limit = await gateways().sessionLimitFor(tenant, of, pools)
    if (limit === null) return []
    return [
      { kind: 'session' as const, detail: `the tenant has reached the limit of its plan for VPN sessions (${limit})` },
    ]
  }

  return {
    explain: async (tenant: TenantId, q: PolicyQuestion & Judging) => {
      const document = await documentOf(readCandidate, tenant, q)
      const asker = await withReport(tenant, await askerOf(tenant, q, document && checksOf([document])))
      const policy = await store.at(tenant)
      const channel = document ? null : (q.channel ?? (asker.device ? policy.channelOf(asker.device) : 'stable'))
      const { compiled, version } =
        channel === null ? { compiled: document!, version: null } : versionAsked(policy, channel)
      const decision = decideFor(compiled, asker, q)
      const byPolicy: Blocker[] = decision.decision === 'deny' ? [{ kind: 'policy', detail: decision.reason }] : []
      const blockedBy = [
        ...asker.blocked,
        ...byPolicy,
        ...(await keptOutBySession(tenant, asker.device)),
        ...(await withoutRoom(tenant, asker, decision)),
        ...(await withoutGateway(tenant, decision)),
      ]
      const posture = evaluateChecks(compiled, asker.facts, contextOf(q, asker.device).at)
      return { decision, blockedBy, channel, version, posture }
    },
    /** Answers the same question under two policies. A target that only one of them knows is denied by the other. */
    compare: async (tenant: TenantId, q: PolicyQuestion, after: CompiledPolicy) => {
      const asker = await askerOf(tenant, q, checksOf([after]))
      const policy = await store.at(tenant)
      const before = policy.versionOn(asker.device ? policy.channelOf(asker.device) : 'stable').compiled
      return { before: decideOrUnknown(() => effectiveFor(before, asker, q)), after: effectiveFor(after, asker, q) }
    },
  }
}

/** Returns the given document, checked and compiled. Undefined if a published policy decides. */
export async function documentOf(
  readCandidate: ReadCandidate,
  tenant: TenantId,
  { policy, channel }: Judging,
): Promise<CompiledPolicy | undefined> {
  if (policy === undefined) return undefined
  if (channel !== undefined) failField('policy', 'cannot be combined with channel')
  const candidate = await readCandidate(tenant, policy)
  return 'errors' in candidate ? refuseDocument(candidate.errors) : candidate.compiled
}

/** Returns the version of a channel. Refuses a canary that is not active. */
export function versionAsked(policy: TenantPolicy, channel: Channel) {
  if (channel === 'canary' && !policy.runningCanary) failField('channel', 'no canary is active: ask for stable')
  return policy.versionOn(channel)
}

/** Parses a target that the policy knows. Refuses an unknown one by its field. */
export function targetIn(compiled: CompiledPolicy, text: string): Target {
  const target =
    parseTarget(text) ??
    failField('target', 'must be a target such as wiki, wiki:tcp/443, git.example.com:tcp/22 or 10.1.2.3:tcp/22')
  if (!isKnown(compiled, target)) failField('target', `the policy has no resource or host "${text}"`)
  return target
}
/** Every policy knows addresses and DNS names, as in its tests. */
const isKnown = ({ resolved }: CompiledPolicy, target: Target): boolean => {
  const { resources = {}, hosts = {} } = resolved.document
  if (!('name' in target) || isHostName(target.name)) return true
  return Object.hasOwn(resources, target.name) || Object.hasOwn(hosts, target.name)
}

function decideOrUnknown(work: () => Decision): Decision {
  try {
    return work()
  } catch {
    return { ...decidedByNone, reason: 'the published policy does not contain this target' }
  }
}
/** The decision if no rule matches. */
const decidedByNone: Omit<Decision, 'reason'> = {
  decision: 'deny',
  rule_id: null,
  valid_until: null,
  pools: [],
  rules: [],
  would_allow: [],
}
const blockerOf = ({ kind, reason }: { kind: Blocker['kind']; reason: string }): Blocker => ({ kind, detail: reason })
/** Rewords the text about a device's user for a question about the user. */
const ofUser = ({ kind, detail }: Blocker): Blocker => ({ kind, detail: detail.replace('its user', 'the user') })
export type Questions = ReturnType<typeof createQuestions>
export type PolicyExplanation = Awaited<ReturnType<Questions['explain']>>
