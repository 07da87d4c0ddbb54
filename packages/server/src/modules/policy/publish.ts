import { setTimeout as delay } from 'node:timers/promises'
import type { GateTerms } from '@holdfast/contract/policy-rollout'
import { diffPolicies, type PolicyTestReport } from '@holdfast/policy'
import { background, type Database, type Tx } from '../../db/database.ts'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import { AppError, fail, failField } from '../../kernel/app-error.ts'
import { eachTenant } from '../../kernel/each-tenant.ts'
import { decodeId } from '../../kernel/ids.ts'
import { minute } from '../../kernel/time.ts'
import { holdVerdicts } from '../devices/index.ts'
import { knownGroups } from '../identity/index.ts'
import { type Candidate, type ReadCandidate, refuseDocument } from './candidate.ts'
import { devicesNamed, holdGroups, holdPools } from './directory.queries.ts'
import type { ImpactOf, StoredImpact } from './impact.ts'
import * as queries from './policy.queries.ts'
import { isGateOverridden } from './rollout/promotion.ts'
import { termsOf } from './rollout/verdict.ts'
import type { PolicyStore } from './store.ts'
import type { MoveVerdicts } from './stored-verdicts.ts'
import type { CanaryRollout, Channel } from './tenant-policy.ts'
import type { Versions } from './versions.ts'
import type { BundleRow, Reach } from './view.ts'

type PublishInput = {
  channel: Channel
  policy?: Record<string, unknown>
  from?: { channel?: Channel; version?: number; digest?: string }
  rollout?: { percent?: number; group_ids?: string[]; device_ids?: string[] }
  /** Digest that the publisher last saw on the channel. */
  previous_digest?: string | null
  note?: string
  allow_failing_tests?: boolean
  gate?: GateTerms
  override_gate?: boolean
  /** Allows stable to end a canary that is under way. */
  supersede?: boolean
}
type Measured = Awaited<ReturnType<ImpactOf>>

/**
 * Time in ms that a publish waits for its impact before it commits, and again before it answers without it. It waits as
 * long for the stored verdicts of devices.
 */
const patienceMs = { before: 100, after: 300 }

export function createPublishing({
  db,
  impactOf,
  store,
  versions,
  readCandidate,
  moveVerdicts,
  now,
  onError,
}: {
  db: Database
  impactOf: ImpactOf
  store: PolicyStore
  versions: Versions
  readCandidate: ReadCandidate
  moveVerdicts: MoveVerdicts
  now: () => Date
  onError: (e: unknown) => void
}) {
  /** Returns the document of another channel, version or digest. A canary that has ended has none. */
  async function documentOf(tenant: TenantId, from: NonNullable<PublishInput['from']>): Promise<unknown> {
    if (Object.keys(from).length !== 1) failField('from', 'give exactly one of channel, version and digest')
    const row = await db.inTenant(tenant, async (tx) => {
      if (from.digest !== undefined) return queries.bundleByDigest(tx, tenant, from.digest)
      if (from.version !== undefined) return queries.bundleByVersion(tx, tenant, from.version)
      const inForce = await queries.inForce(tx, tenant)
      const sourceBundle = from.channel === 'canary' ? queries.canaryUnderWay(inForce) : inForce.get('stable')
      return sourceBundle && queries.bundleByVersion(tx, tenant, sourceBundle.version)
    })
    if (row) return row.document
    return failField('from', from.channel === 'canary' ? 'no canary is active' : 'the channel has no published version')
  }

  async function rolloutOf(tenant: TenantId, input: PublishInput): Promise<CanaryRollout> {
    const { rollout = {} } = input
    if (input.channel === 'stable' && input.gate) failField('gate', 'is allowed only with channel canary')
    if (input.channel === 'stable' && input.rollout)
      failField('rollout', 'is allowed only with channel canary: stable reaches every device')
    const groupIds = (rollout.group_ids ?? []).map(
      (id, i) => decodeId('group', id) ?? failField(`rollout.group_ids[${i}]`, 'no such group'),
    )
    const deviceIds = (rollout.device_ids ?? []).map(
      (id, i) => decodeId('device', id) ?? failField(`rollout.device_ids[${i}]`, 'no such device'),
    )
    const read = { percent: rollout.percent ?? 0, groupIds: new Set(groupIds), deviceIds: new Set(deviceIds) }
    if (groupIds.length + deviceIds.length === 0) return read
    await db.inTenant(tenant, async (tx) => {
      const groups = new Set(await knownGroups(tx, tenant, groupIds))
      const devices = new Set(deviceIds.length > 0 ? (await devicesNamed(tx, tenant, deviceIds)).map((d) => d.id) : [])
      for (const [i, id] of groupIds.entries())
        if (!groups.has(id)) failField(`rollout.group_ids[${i}]`, 'no such group')
      for (const [i, id] of deviceIds.entries())
        if (!devices.has(id)) failField(`rollout.device_ids[${i}]`, 'no such device')
    })
    return read
  }

  function refuseFailing(tests: PolicyTestReport): void {
    const failing = tests.results.flatMap((r, i) => (r.passed ? [] : [{ r, i }]))
    const errors = failing.slice(0, 50).map(({ r, i }) => ({
      field: `policy.tests[${i}]`,
      message: `${r.name}: ${r.failures.map((f) => `${f.target} expected ${f.expected}, got ${f.got} (${f.reason})`).join('; ')}`,
    }))
    if (errors.length > 0)
      throw new AppError(
        'validation_error',
        `${failing.length} of ${tests.results.length} tests fail: ${errors[0]!.message}`,
        { errors },
      )
  }

  /**
   * Publishing to stable ends a canary that is under way. Refuses that unless both have the same content. The caller
   * holds the lock of the versions.
   */
  function refuseSuperseding(inForce: queries.InForce, { digest }: Candidate): void {
    const canary = queries.canaryUnderWay(inForce)
    if (!canary || canary.digest === digest) return
    failField(
      'supersede',
      `canary version ${canary.version} is active, and this publication would end it: repeat the request with supersede: true, or promote the canary with from: {"channel": "canary"}`,
    )
  }

  /**
   * Refuses a rollback without effect: stable delivers this document already, and no canary would end. The caller holds
   * the lock of the versions.
   */
  function refuseSame(inForce: queries.InForce, { channel, from }: PublishInput, { digest }: Candidate): void {
    const stable = inForce.get('stable')
    if (!from || channel !== 'stable' || stable?.digest !== digest || queries.canaryUnderWay(inForce)) return
    failField(
      'from',
      `stable already delivers this document, as version ${stable.version}, and no canary is active, so nothing would change. Give a version with another document as from: {"version": <number>}`,
    )
  }

  /** Refuses if the channel has changed since the publisher read it. The caller holds the lock of the versions. */
  function refuseStale({ channel, previous_digest: seen }: PublishInput, previous: string | null): void {
    if (seen === undefined || seen === previous) return
    failField(
      'previous_digest',
      `${channel} was changed meanwhile and now has ${previous ?? 'no version'}: read it again, then repeat the change`,
    )
  }

  /**
   * Refuses a name whose object was deleted since it was resolved. The lock then prevents a deletion until the policy
   * is in force.
   */
  async function requireNamed(tx: Tx, tenant: TenantId, { resolved }: Candidate): Promise<void> {
    const groups = Object.entries(resolved.groups)
    const pools = Object.entries(resolved.pools).map(
      ([name, id]) => [name, decodeId('gateway_pool', id) ?? id] as const,
    )
    for (const [named, hold] of [
      [groups, holdGroups],
      [pools, holdPools],
    ] as const) {
      if (named.length === 0) continue
      const there = await hold(tx, tenant, [...new Set(named.map(([, id]) => id))])
      const deletedParty = named.find(([, id]) => !there.has(id))
      if (deletedParty) failField('policy', `"${deletedParty[0]}" was deleted meanwhile`)
    }
  }

  async function commit(
    actor: Actor,
    input: PublishInput,
    candidate: Candidate,
    rollout: CanaryRollout,
    impact: StoredImpact,
  ): Promise<BundleRow> {
    const tenant = actor.tenantId
    return db.inTenant(tenant, async (tx) => {
      await requireNamed(tx, tenant, candidate)
      await holdVerdicts(tx, tenant)
      const version = await queries.takeVersion(tx, tenant)
      const inForce = await queries.inForce(tx, tenant)
      const previous = inForce.get(input.channel)?.digest ?? null
      refuseStale(input, previous)
      refuseSame(inForce, input, candidate)
      if (input.channel === 'stable' && !input.supersede) refuseSuperseding(inForce, candidate)
      if (input.gate && !inForce.has('stable'))
        failField('gate', 'needs a published version on stable for comparison and rollback: publish one first')
      const overridden = input.channel === 'stable' && (await isGateOverridden(tx, tenant, candidate, input))
      const { digest, document, resolved: resolution, tests } = candidate
      const bundle = await versions.put(tx, actor, version, {
        channel: input.channel,
        previous,
        digest,
        document,
        resolution,
        tests,
        rollout,
        impact,
        overridden,
        note: input.note ?? '',
        gate: input.gate ? termsOf(input.gate) : null,
      })
      const { compiled } = candidate
      // Only after commit: a version number that was rolled back is issued again.
      db.afterCommit(tx, () => store.remember(tenant, { version, seq: bundle.seq, rollout, compiled }))
      return bundle
    })
  }

  const write = (tenant: TenantId, version: number, impact: StoredImpact) =>
    db.inTenant(tenant, (tx) => queries.setImpact(tx, tenant, version, impact))

  async function finishImpact(tenant: TenantId, version: number): Promise<void> {
    const row = await db.inTenant(tenant, (tx) => queries.bundleByVersion(tx, tenant, version))
    if (!row) fail('not_found', 'no such version')
    const { rules_added, rules_removed, rules_changed } = row.impact as StoredImpact
    const previous = await store.atVersions(tenant, await store.versionsAt(tenant, row.seq - 1))
    const own = (await store.atVersions(tenant, await store.versionsAt(tenant, row.seq))).versionOn(row.channel)
    const goesTo = row.channel === 'canary' ? own.rollout : undefined
    const found = await impactOf(tenant, previous, own.compiled, goesTo)
    await write(tenant, version, storedOf({ rules_added, rules_removed, rules_changed }, found))
  }

  return {
    /**
     * Publishes a version. The impact is computed before, so that only the commit remains; an impact that takes longer
     * is stored later. Applied counts are not queried, because no device can have the new version yet.
     */
    publish: async (actor: Actor, input: PublishInput): Promise<{ bundle: BundleRow; reach: Reach }> => {
      const tenant = actor.tenantId
      if ((input.policy === undefined) === (input.from === undefined)) failField('policy', 'give either policy or from')
      const value = input.policy ?? (await documentOf(tenant, input.from!))
      const candidate = await readCandidate(tenant, value)
      if ('errors' in candidate) refuseDocument(candidate.errors)
      if (!input.allow_failing_tests) refuseFailing(candidate.tests)
      const rollout = await rolloutOf(tenant, input)
      const before = await store.at(tenant)
      const diff = diffPolicies(before.versionOn(input.channel).compiled.resolved, candidate.resolved)
      const goesTo = input.channel === 'canary' ? rollout : undefined
      const failed = (e: unknown) => {
        onError(e)
        return undefined
      }
      const measuring = impactOf(tenant, before, candidate.compiled, goesTo).catch(failed)
      const known = await within(patienceMs.before, measuring)
      const bundle = await commit(actor, input, candidate, rollout, storedOf(diff, known))
      const moving = moveVerdicts(tenant).catch(failed)
      // Reported as known only after it is stored.
      const storing = async (): Promise<Measured | undefined> => {
        const found = await measuring
        if (found) await write(tenant, bundle.version, storedOf(diff, found))
        return found
      }
      const found = known ?? (await within(patienceMs.after, storing().catch(failed)))
      await within(patienceMs.after, moving)
      const reach = {
        current: true,
        variants: found?.variants ?? 0,
        applied: 0,
        digests: [],
        pending: found?.impact.devices_examined ?? 0,
      }
      return { bundle: { ...bundle, impact: storedOf(diff, found) }, reach }
    },

    /** Computes impacts whose process ended before they were stored. */
    finishImpacts: async (): Promise<void> => {
      const before = new Date(now().getTime() - 2 * minute)
      const tenants = await db.acrossTenants((tx) => queries.tenantsWithUnfinishedImpacts(tx, before), background)
      await eachTenant(tenants, async (tenant) => {
        for (const version of await db.inTenant(tenant, (tx) => queries.unfinishedImpacts(tx, tenant, before)))
          await finishImpact(tenant, version)
      })
    },
  }
}
export type Publishing = ReturnType<typeof createPublishing>

const storedOf = (diff: ReturnType<typeof diffPolicies>, measured: Measured | undefined): StoredImpact => ({
  ...diff,
  status: measured ? 'done' : 'running',
  ...(measured?.impact ?? { devices_examined: 0, devices_affected: 0, grants_gained: 0, grants_lost: 0 }),
  warnings: measured?.warnings ?? [],
})

const within = <T>(ms: number, found: Promise<T>): Promise<T | undefined> =>
  Promise.race([found, delay(ms, undefined, { ref: false })])
