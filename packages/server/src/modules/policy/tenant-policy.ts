import { createHash } from 'node:crypto'
import { contentDigest } from '@holdfast/crypto'
import {
  type CompiledPolicy,
  type DeviceFacts,
  type Selection,
  selectVariant,
  type VariantContent,
  variantContent,
} from '@holdfast/policy'
import type { FleetDevice } from '../devices/index.ts'

export type Channel = 'canary' | 'stable'
/** A published version, ready to answer. */
export type Version = {
  version: number
  /** The tenant's sequence number of its publication. */
  seq: number
  rollout: { percent: number; groupIds: ReadonlySet<string>; deviceIds: ReadonlySet<string> }
  compiled: CompiledPolicy
}
/** What a set of devices shares. One object for one content, so that callers can hang what they make of it on it. */
export type Variant = { digest: string; channel: Channel; version: number; seq: number; content: VariantContent }
export type DeviceVariant = Variant & { validUntil: number | null }

const nothing: Selection = { key: '', rules: [], checks: [], valid_until: null }

export const factsOf = (device: FleetDevice): DeviceFacts => ({
  device_id: device.deviceId,
  user_id: device.userId,
  group_ids: device.groupIds,
  tags: device.tags,
  platform: device.platform,
  posture: device.posture,
})

/**
 * The policy of a tenant as a pair of versions. Which variant a device gets is worked out at its first question and
 * remembered for as long as the device stays what it is: a changed device is another object.
 */
export class TenantPolicy {
  readonly seq: number
  readonly versions: { canary: number | null; stable: number | null }
  readonly #canary: Version | undefined
  readonly #stable: Version
  readonly #salt: Buffer
  readonly #variants = new Map<string, Variant>()
  // What devices remember of this policy: they must not keep it alive.
  readonly #mark = {}

  /** `stable` of version 0 stands for a tenant that has published nothing: everything is denied. */
  constructor(canary: Version | undefined, stable: Version, salt: Buffer) {
    this.#canary = canary && canary.version > stable.version ? canary : undefined
    this.#stable = stable
    this.#salt = salt
    this.seq = Math.max(this.#canary?.seq ?? 0, stable.seq)
    this.versions = { canary: canary?.version ?? null, stable: stable.version || null }
  }

  /** Canary only while a canary version is newer than stable: nobody stays behind on an old canary. */
  channelOf(device: FleetDevice): Channel {
    const canary = this.#canary
    if (!canary || device.channel === 'stable') return 'stable'
    if (device.channel === 'canary' || canary.rollout.deviceIds.has(device.deviceId)) return 'canary'
    if (device.groupIds.some((id) => canary.rollout.groupIds.has(id))) return 'canary'
    return bucketOf(this.#salt, device.deviceId) < canary.rollout.percent * 100 ? 'canary' : 'stable'
  }

  compiledFor(device: FleetDevice): CompiledPolicy {
    return this.#versionOf(this.channelOf(device)).compiled
  }

  versionOn(channel: Channel): Version {
    return this.#versionOf(channel)
  }

  variantOf(device: FleetDevice, nowMs: number): Variant {
    return this.selectionOf(device, nowMs).variant
  }

  /** Whether time alone can give a device another variant: a check that decides about rules has a freshness. */
  get isTimed(): boolean {
    return [this.#stable, this.#canary].some((v) => v?.compiled.checks.some((c) => c.enforcement === 'enforce'))
  }

  /** What a device gets, and until when if nothing but time passes (ms; null: for good). */
  selectionOf(device: FleetDevice, nowMs: number): { variant: Variant; validUntil: number | null } {
    const known = device.selected
    if (known?.by === this.#mark && (known.validUntil === null || nowMs < known.validUntil))
      return { variant: known.variant as Variant, validUntil: known.validUntil }
    const channel = this.channelOf(device)
    const version = this.#versionOf(channel)
    const selection = device.usable ? selectVariant(version.compiled, factsOf(device), nowMs) : nothing
    const variant = this.#variant(channel, version, selection)
    device.selected = { by: this.#mark, variant, validUntil: selection.valid_until }
    return { variant, validUntil: selection.valid_until }
  }

  #versionOf(channel: Channel): Version {
    return channel === 'canary' && this.#canary ? this.#canary : this.#stable
  }

  #variant(channel: Channel, version: Version, selection: Selection): Variant {
    const key = `${channel}|${selection.key}`
    const known = this.#variants.get(key)
    if (known) return known
    const content = variantContent(version.compiled, selection)
    const variant = { digest: contentDigest(content), channel, version: version.version, seq: version.seq, content }
    this.#variants.set(key, variant)
    return variant
  }
}

/** 0–9999, stable for a device: raising a rollout's percentage only adds devices. */
export const bucketOf = (salt: Buffer, deviceId: string): number =>
  createHash('sha256').update(salt).update('\x1f').update(deviceId).digest().readUInt32BE(0) % 10_000
