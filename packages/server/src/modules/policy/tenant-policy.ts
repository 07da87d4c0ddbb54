import { createHash } from 'node:crypto'
import { canonicalJson } from '@holdfast/crypto'
import {
  type CompiledPolicy,
  type DeviceFacts,
  evaluateVerdict,
  type PostureVerdict,
  type Selection,
  selectVariant,
  type Variant,
  variantContent,
} from '@holdfast/policy'
import type { EvaluatedVerdict, FleetDevice, ReportedChecks, Selected } from '../devices/index.ts'
import type { VariantBudget, VariantSlot } from './variants.ts'

export type { Variant } from '@holdfast/policy'
export type Channel = 'canary' | 'stable'
/** A published and compiled version. */
export type Version = {
  version: number
  /** The tenant's sequence number of its publication. */
  seq: number
  rollout: CanaryRollout
  compiled: CompiledPolicy
}
export type CanaryRollout = { percent: number; groupIds: ReadonlySet<string>; deviceIds: ReadonlySet<string> }

const nothing: Selection = { key: '', rules: [], checks: [], valid_until: null }

/** Returns the facts that the checks of policies read, and for each check the parts that its outcome depends on. */
export const checksOf = (policies: readonly CompiledPolicy[]): ReportedChecks => {
  const checks = policies.flatMap((policy) => policy.checks)
  return {
    facts: new Set(checks.flatMap((check) => check.facts)),
    texts: new Set(
      checks.map(({ text, freshnessMs, platforms }) =>
        JSON.stringify([text, freshnessMs, platforms && [...platforms].sort()]),
      ),
    ),
  }
}

export const deviceFactsOf = (device: FleetDevice): DeviceFacts => ({
  device_id: device.deviceId,
  user_id: device.userId,
  group_ids: device.groupIds,
  tags: device.tags,
  platform: device.platform,
  posture: device.posture,
})

/**
 * The policy of a tenant as a pair of versions. The variant of a device is computed on its first request and stored on
 * the device object. A changed device is a new object.
 */
export class TenantPolicy {
  /** The tenant's sequence number as of which this was read. */
  readonly seq: number
  readonly versions: { canary: number | null; stable: number | null }
  /** The checks of every policy that some device is under. */
  readonly checks: ReportedChecks
  readonly #canary: Version | undefined
  readonly #stable: Version
  readonly #salt: Buffer
  readonly #budget: VariantBudget
  readonly #slots = new Map<string, VariantSlot>()
  // Marks entries on device objects as made by this policy, without keeping the policy alive.
  readonly #mark = {}
  readonly #evaluated: Readonly<Record<PostureVerdict, EvaluatedVerdict>> = {
    compliant: { verdict: 'compliant' },
    non_compliant: { verdict: 'non_compliant' },
    unknown: { verdict: 'unknown' },
  }

  /** `stable` with version 0 means that the tenant has published nothing: everything is denied. */
  constructor(
    { canary, stable, salt, seq }: { canary: Version | undefined; stable: Version; salt: Buffer; seq: number },
    budget: VariantBudget,
  ) {
    this.#canary = canary && canary.version > stable.version ? canary : undefined
    this.#stable = stable
    this.#salt = salt
    this.#budget = budget
    this.seq = seq
    this.versions = { canary: canary?.version ?? null, stable: stable.version || null }
    this.checks = checksOf(this.inForce)
  }

  /** Every policy that some device is under. */
  get inForce(): readonly CompiledPolicy[] {
    return [this.#stable, this.#canary].flatMap((version) => version?.compiled ?? [])
  }
  /** Number of the newest version on either channel. */
  get newest(): number {
    return Math.max(this.versions.canary ?? 0, this.versions.stable ?? 0)
  }
  /** True if time alone can change the variant of a device: a check that decides about rules has a freshness. */
  get isTimed(): boolean {
    return [this.#stable, this.#canary].some((v) => v?.compiled.checks.some((c) => c.enforcement === 'enforce'))
  }
  /** True if a delivered version has a resource or a host of this name. */
  names(resource: string): boolean {
    return [this.#stable, this.#canary].some((v) => {
      const { resources = {}, hosts = {} } = v?.compiled.resolved.document ?? {}
      return Object.hasOwn(resources, resource) || Object.hasOwn(hosts, resource)
    })
  }
  /** The canary version that is under way. */
  get runningCanary(): Version | undefined {
    return this.#canary
  }

  /** The rollout of the canary under way, and the salt of its percentage. */
  get canaryReach(): (CanaryRollout & { salt: Buffer }) | undefined {
    return this.#canary && { salt: this.#salt, ...this.#canary.rollout }
  }

  /** Canary only while its version is newer than stable: no device stays on an old canary. */
  channelOf(device: FleetDevice): Channel {
    const canary = this.#canary
    return canary && this.reaches(canary.rollout, device) ? 'canary' : 'stable'
  }

  /** True if a canary with this rollout includes the device. */
  reaches({ percent, groupIds, deviceIds }: CanaryRollout, device: FleetDevice): boolean {
    if (device.channel === 'stable') return false
    if (device.channel === 'canary' || deviceIds.has(device.deviceId)) return true
    if (device.groupIds.some((id) => groupIds.has(id))) return true
    return bucketOf(this.#salt, device.deviceId) < percent * 100
  }

  compiledFor(device: FleetDevice): CompiledPolicy {
    return this.versionOn(this.channelOf(device)).compiled
  }

  versionOn(channel: Channel): Version {
    return channel === 'canary' && this.#canary ? this.#canary : this.#stable
  }

  /** Returns the variant of the device at a time, and the span of time in which it stays the same. */
  selectedOf(device: FleetDevice, atMs: number): Selected {
    const known = device.selected
    if (known?.by === this.#mark && known.slot.variant && known.from <= atMs && atMs < known.until) {
      known.slot.isUsed = true
      return known
    }
    const channel = this.channelOf(device)
    const version = this.versionOn(channel)
    const selection = device.usable ? selectVariant(version.compiled, deviceFactsOf(device), atMs) : nothing
    const slot = this.#slotOf(channel, version, selection)
    const selected: Selected = {
      by: this.#mark,
      slot,
      // Without a check the selection does not depend on time.
      from: selection.checks.length === 0 ? Number.NEGATIVE_INFINITY : atMs,
      until: selection.valid_until ?? Number.POSITIVE_INFINITY,
    }
    device.selected = selected
    return selected
  }

  /** Returns the posture verdict of the device at a time, by the checks of the version that it is under. */
  verdictOf(device: FleetDevice, atMs: number): PostureVerdict {
    if (!device.posture || this.checks.texts.size === 0) return 'unknown'
    const known = device.evaluated
    if (known && known === this.#evaluated[known.verdict] && atMs < device.evaluatedUntil) return known.verdict
    const { verdict, until } = evaluateVerdict(this.compiledFor(device), deviceFactsOf(device), atMs)
    device.evaluated = this.#evaluated[verdict]
    device.evaluatedUntil = until
    return verdict
  }

  variantOf(device: FleetDevice, atMs: number): Variant {
    return this.selectedOf(device, atMs).slot.variant!
  }

  /** Returns the variant of a device, and until when it stays the same if only time passes (ms; null: forever). */
  selectionOf(device: FleetDevice, atMs: number): { variant: Variant; validUntil: number | null } {
    const { slot, until } = this.selectedOf(device, atMs)
    return { variant: slot.variant!, validUntil: Number.isFinite(until) ? until : null }
  }

  /** Returns its bytes to the budget. It still works for callers that hold it. */
  release(): void {
    for (const slot of [...this.#slots.values()]) this.#budget.release(slot)
  }

  #slotOf(channel: Channel, version: Version, selection: Selection): VariantSlot {
    const key = `${channel}|${selection.key}`
    const known = this.#slots.get(key)
    if (known?.variant) {
      known.isUsed = true
      return known
    }
    const content = variantContent(version.compiled, selection)
    const text = canonicalJson(content)
    const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`
    const slot = this.#budget.take(
      { digest, channel, version: version.version, seq: version.seq, content },
      text.length,
      () => this.#slots.delete(key),
    )
    this.#slots.set(key, slot)
    return slot
  }
}

/** Returns 0–9999, constant for a device: raising the percentage of a rollout only adds devices. */
const bucketOf = (salt: Buffer, deviceId: string): number =>
  createHash('sha256').update(salt).update('\x1f').update(deviceId).digest().readUInt32BE(0) % 10_000
