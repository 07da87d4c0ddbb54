import { diffPolicies, evaluateChecks } from '@holdfast/policy'
import { background, type Database } from '../../db/database.ts'
import { orderOf, type Pager } from '../../db/page.ts'
import type { Hold } from '../../http/representation.ts'
import type { Handlers } from '../../http/serve.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { fail, unauthorized } from '../../kernel/app-error.ts'
import { decodeId, encodeId } from '../../kernel/ids.ts'
import { whenReady } from '../../kernel/ready.ts'
import type { Representation } from '../../kernel/representation.ts'
import type { Change, Changes } from '../../memory/changes.ts'
import type { Feed } from '../../memory/feed.ts'
import type { Audit } from '../audit/index.ts'
import type { Appraisal, Fleet, FleetDevice } from '../devices/index.ts'
import type { Trust } from '../trust/index.ts'
import { createCandidates, refuseDocument } from './candidate.ts'
import { createDelivery } from './delivery.ts'
import * as queries from './policy.queries.ts'
import { createPublishing } from './publish.ts'
import { createQuestions } from './questions.ts'
import { createReach } from './reach.ts'
import { createPolicyStore } from './store.ts'
import { factsOf } from './tenant-policy.ts'
import { viewBundle, viewDecision } from './view.ts'
import { createWaiters } from './waiters.ts'

export type { VariantContent } from '@holdfast/policy'
export type { TenantPolicy, Variant } from './tenant-policy.ts'

type Caller = { tenantId: TenantId; id: string }

const maxWaiters = 50_000

export function createPolicy(deps: {
  db: Database
  audit: Audit
  changes: Changes
  feed: Feed
  pager: Pager
  fleet: Fleet
  trust: Trust
  now: () => Date
  onError: (e: unknown) => void
}) {
  const { db, audit, changes, fleet, pager, now } = deps
  const store = createPolicyStore(deps)
  const readCandidate = createCandidates(deps)
  const publishing = createPublishing({ ...deps, store, readCandidate })
  const questions = createQuestions({ ...deps, store })
  const reachOf = createReach({ ...deps, store })
  const delivery = createDelivery({ ...deps, store })

  const touchedDevices = async (tenant: TenantId, { kind, subject }: Change): Promise<readonly string[]> => {
    if (kind === 'device') return [subject]
    if (kind === 'user') return fleet.devicesOfUser(tenant, subject)
    return kind === 'group' ? fleet.devicesOfGroup(tenant, subject) : []
  }
  const digestNow = (tenant: TenantId, deviceId: string) => {
    const digest = (device: FleetDevice | undefined) => {
      if (!device || device.status === 'revoked' || device.status === 'suspended') return undefined
      const variant = delivery.variantOf(device)
      return variant instanceof Promise ? variant.then((v) => v.digest) : variant.digest
    }
    const device = fleet.device(tenant, deviceId)
    return device instanceof Promise ? device.then(digest) : digest(device)
  }
  const waiters = createWaiters({ max: maxWaiters, digestOf: digestNow, touchedDevices })
  changes.listen('waiters', {
    changed: (tenant, list) => void waiters.onChange(tenant, list).catch(deps.onError),
    forgotten: waiters.wakeAll,
  })

  const bundleView = async (tenant: TenantId, bundleId: string) => {
    const row = await db.inTenant(tenant, (tx) => queries.bundleById(tx, tenant, bundleId))
    if (!row) return fail('not_found', 'no such policy bundle')
    return {
      ...viewBundle(row, (await reachOf(tenant, [row.version]))(row.version)),
      policy: row.document as Record<string, unknown>,
    }
  }
  const deviceOf = (tenant: TenantId, id: string): FleetDevice | Promise<FleetDevice> =>
    whenReady(fleet.device(tenant, id), (device) => device ?? fail('not_found', 'no such device'))
  const digestOf = ({ tenantId, id }: Caller) => whenReady(deviceOf(tenantId, id), delivery.digest)
  const bundleOf = ({ tenantId, id }: Caller) => whenReady(deviceOf(tenantId, id), delivery.bundle)

  /** Of what the device has: that which follows it, or the same again when the time is over. */
  async function next<T>(
    { tenantId, id }: Caller,
    had: Representation<T>,
    hold: Hold,
    make: (device: FleetDevice) => Representation<T> | Promise<Representation<T>>,
  ): Promise<Representation<T>> {
    if (waiters.count() >= maxWaiters) hold.decline()
    else await waiters.wait(tenantId, id, digestIn(had), hold.seconds, hold.signal)
    const after = await deviceOf(tenantId, id)
    if (after.status === 'revoked' || after.status === 'suspended') unauthorized()
    return make(after)
  }

  const handlers = {
    publishPolicy: async ({ actor, body }) => bundleView(actor.tenantId, await publishing.publish(actor, body)),
    listPolicyBundles: async ({ actor, query }) => {
      const { limit, cursor, channel, sort = '-version' } = query
      const order = orderOf(sort, { version: { column: 'version', kind: 'number' } }, 'bundle_id')
      const found = await db.inTenant(actor.tenantId, (tx) =>
        pager.page(
          queries.selectBundles(tx, actor.tenantId, channel),
          { ...(limit && { limit }), ...(cursor && { cursor }) },
          order,
          `listPolicyBundles|${actor.tenantId}|${channel ?? ''}`,
        ),
      )
      const reach = await reachOf(
        actor.tenantId,
        found.items.map((b) => b.version),
      )
      return { items: found.items.map((b) => viewBundle(b, reach(b.version))), next_cursor: found.next_cursor }
    },
    getPolicyBundle: ({ actor, params }) =>
      bundleView(
        actor.tenantId,
        decodeId('policy_bundle', params.bundle_id) ?? fail('not_found', 'no such policy bundle'),
      ),
    validatePolicy: async ({ actor, body }) => {
      const candidate = await readCandidate(actor.tenantId, body.policy)
      const valid = !('errors' in candidate) && candidate.tests.failed === 0
      await audit.note(actor, 'policy.validated', { valid })
      if ('errors' in candidate) return { valid, errors: candidate.errors, tests: null, diff: null }
      const stable = (await store.at(actor.tenantId)).versionOn('stable').compiled.resolved
      return { valid, errors: [], tests: candidate.tests, diff: diffPolicies(stable, candidate.resolved) }
    },
    simulatePolicy: async ({ actor, body }) => {
      const tenant = actor.tenantId
      const candidate = await readCandidate(tenant, body.policy)
      if ('errors' in candidate) refuseDocument(candidate.errors)
      const answers = []
      for (const q of body.questions ?? []) {
        const { before, after } = await questions.compare(tenant, q, candidate.compiled)
        answers.push({ target: q.target, before: viewDecision(before), after: viewDecision(after) })
      }
      const policy = await store.at(tenant)
      const diff = diffPolicies(policy.versionOn('stable').compiled.resolved, candidate.resolved)
      const impact = await publishing.measure(tenant, policy, 'stable', candidate.compiled, diff)
      await audit.note(actor, 'policy.simulated', { questions: answers.length })
      return { answers, impact, tests: candidate.tests }
    },
    explainPolicy: async ({ actor, body }) => {
      const { decision, channel, version, posture } = await questions.explain(actor.tenantId, body)
      await audit.note(actor, 'policy.explained', { decision: decision.decision })
      return {
        ...viewDecision(decision),
        channel,
        version,
        rules: decision.rules.map(({ rule_id, action, matched, conditions }) => ({
          rule_id,
          action,
          matched,
          conditions: conditions.map((c) => ({ ...c, expected: c.expected ?? null, actual: c.actual ?? null })),
        })),
        posture: posture.checks
          .filter((c) => c.applies)
          .map(({ id, passed, reason_code, expected, actual }) => ({
            check_id: id,
            passed,
            reason_code,
            expected,
            actual,
          })),
        posture_verdict: posture.verdict,
      }
    },
    policyDigest: ({ actor: { principal }, hold }) =>
      whenReady(digestOf(principal), (r) => (hold?.knows(r) ? next(principal, r, hold, delivery.digest) : r)),
    policyBundle: ({ actor: { principal }, hold }) =>
      whenReady(bundleOf(principal), (r) => (hold?.knows(r) ? next(principal, r, hold, delivery.bundle) : r)),
  } satisfies Partial<Handlers>

  const rulesUsing = async (tenant: TenantId, kind: 'groups' | 'pools', id: string): Promise<string[]> => {
    const policy = await store.at(tenant)
    const versions = [policy.versionOn('stable'), policy.versionOn('canary')]
    const rules = versions.flatMap(({ compiled: { resolved } }) => {
      const names = new Set(Object.entries(resolved[kind]).flatMap(([name, known]) => (known === id ? [name] : [])))
      const { rules: all, resources = {}, groups = {} } = resolved.document
      const uses = (value: unknown): boolean =>
        typeof value === 'string'
          ? names.has(value)
          : typeof value === 'object' && value !== null && Object.values(value).some(uses)
      const parts =
        kind === 'pools'
          ? []
          : [...Object.entries(groups)].filter(([, g]) => uses(g.groups)).map(([name]) => `groups.${name}`)
      const pooled =
        kind === 'pools'
          ? Object.entries(resources)
              .filter(([, r]) => uses(r.pool))
              .map(([name]) => `resources.${name}`)
          : []
      return [
        ...all
          .filter((r) => (kind === 'pools' ? uses(r.via) : uses(r.from.groups) || uses(r.except?.groups)))
          .map((r) => r.id),
        ...parts,
        ...pooled,
      ]
    })
    return [...new Set(rules)]
  }

  return {
    handlers,
    /** What a device may ask without waiting, for the transport to answer at once. */
    reads: { '/v1/policy/digest': digestOf, '/v1/policy/bundle': bundleOf },
    at: async (tenant: TenantId) => store.at(tenant),
    atVersions: store.atVersions,
    versionsAt: store.versionsAt,
    bundleFor: (device: FleetDevice) => delivery.bundle(device),
    policyOf: async (tenant: TenantId, deviceId: string) => {
      const device = await fleet.device(tenant, deviceId)
      if (!device || device.status === 'revoked') return undefined
      const { channel, digest } = await delivery.variantOf(device)
      return { channel, digest }
    },
    /** The checks of the policy that a device is under, on the given report. */
    appraise: async (
      tenant: TenantId,
      device: FleetDevice,
      posture: { facts: Record<string, unknown>; reported_at: number },
    ): Promise<Appraisal> => {
      const compiled = (await store.at(tenant)).compiledFor(device)
      const result = evaluateChecks(compiled, { ...factsOf(device), posture }, posture.reported_at)
      return {
        verdict: result.verdict,
        validUntil: result.valid_until,
        checks: result.checks
          .filter((c) => c.applies && c.enforcement !== 'audit')
          .map((c) => ({ id: c.id, passed: c.passed, remediation: c.passed ? null : c.remediation || null })),
      }
    },
    rulesUsingPool: (tenant: TenantId, poolId: string) => rulesUsing(tenant, 'pools', encodeId('gateway_pool', poolId)),
    rulesUsingGroup: (tenant: TenantId, groupId: string) => rulesUsing(tenant, 'groups', groupId),
    finishImpacts: publishing.finishImpacts,
    pruneVariants: () =>
      db.acrossTenants((tx) => queries.pruneVariants(tx, new Date(now().getTime() - 86_400_000)), background),
    waiting: waiters.count,
    /** Answers every held request. */
    stop: waiters.wakeAll,
  }
}
export type Policy = ReturnType<typeof createPolicy>

/** The digest that the tag of a digest or bundle begins with. */
const digestIn = ({ etag }: Representation<unknown>): string => /sha256:[0-9a-f]{64}/.exec(etag ?? '')?.[0] ?? ''
