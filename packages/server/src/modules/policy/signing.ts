import { signJws } from '@holdfast/crypto'
import type { Variant } from '@holdfast/policy'
import type { Database } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import { Representation } from '../../kernel/representation.ts'
import { day, hour } from '../../kernel/time.ts'
import type { Moment } from '../../memory/changes.ts'
import type { Trust } from '../trust/index.ts'
import type { Standing } from './delivery.ts'
import * as queries from './policy.queries.ts'

const bundleType = 'policy-bundle+jws'
const pointerType = 'policy-pointer+jwt'
/** A bundle is good for a day and signed anew for those who ask after half of it; a pointer for an hour, likewise. */
const bundleLifetime = day
const pointerLifetime = hour
const defaultPollSeconds = 30

export type Delivered = { channel: 'canary' | 'stable'; version: number; digest: string; seq: number; pointer: string }
export type DigestBody = Delivered & { poll_seconds: number }
export type BundleBody = Delivered & { bundle: string }

/** What was made of a variant at a moment: the signed pointer and the bytes of both answers. */
export type Made = {
  moment: Moment
  renewAt: number
  delivered: Delivered
  digest: Representation<DigestBody>
  bundle: Representation<BundleBody> | undefined
  bundleRenewAt: number
}

/**
 * Bundles are signed by whoever needs them first and stored, so that every replica serves the same bytes; pointers and
 * answers are kept beside the variant and sent as they are.
 */
export function createSigning({ db, trust, now }: { db: Database; trust: Pick<Trust, 'signerFor'>; now: () => Date }) {
  const made = new WeakMap<Variant, Made>()
  const making = new WeakMap<Variant, Promise<Made>>()
  const bundling = new WeakMap<Variant, ReturnType<typeof signedBundle>>()

  async function sign({ device: { tenantId }, variant, moment }: Standing): Promise<Made> {
    const at = now().getTime()
    const { channel, version, digest } = variant
    const delivered = { channel, version, digest, seq: moment.seq }
    const pointer = await signJws(await trust.signerFor(tenantId, 'policy'), pointerType, {
      ...delivered,
      tenant_id: encodeId('tenant', tenantId),
      iat: Math.floor(at / 1000),
      exp: Math.floor((at + pointerLifetime) / 1000),
    })
    const poll_seconds = variant.content.settings.poll_seconds ?? defaultPollSeconds
    const body = Buffer.from(JSON.stringify({ ...delivered, poll_seconds, pointer }))
    const next: Made = {
      moment,
      renewAt: at + pointerLifetime / 2,
      delivered: { ...delivered, pointer },
      digest: new Representation<DigestBody>(digest, body),
      bundle: undefined,
      bundleRenewAt: 0,
    }
    const before = made.get(variant)
    if (!before || before.moment.seq <= moment.seq) made.set(variant, next)
    return next
  }

  /**
   * Devices of a variant share a pointer that is not older than what any of them was given the variant for: a change of
   * the device, of its policy, or the time at which it was evaluated.
   */
  function pointerFor(standing: Standing): Made | Promise<Made> {
    const { device, variant, from } = standing
    const known = made.get(variant)
    if (
      known &&
      known.moment.seq >= device.seq &&
      known.moment.seq >= variant.seq &&
      known.moment.atMs >= from &&
      now().getTime() < known.renewAt
    )
      return known
    const running = making.get(variant)
    if (running) return running.then(() => pointerFor(standing))
    const work = sign(standing).finally(() => making.delete(variant))
    making.set(variant, work)
    return work
  }

  /** Says nothing of channel and version: versions that share this content share these bytes, and the pointer says which. */
  async function signedBundle(tenant: TenantId, variant: Variant): Promise<{ bundle: string; expires_at: Date }> {
    const at = now()
    const goodUntil = new Date(at.getTime() + bundleLifetime / 2)
    const stored = await db.inTenant(tenant, (tx) => queries.findVariant(tx, tenant, variant.digest, goodUntil))
    if (stored) return stored
    const expires_at = new Date(at.getTime() + bundleLifetime)
    const bundle = await signJws(await trust.signerFor(tenant, 'policy'), bundleType, {
      schema: 'holdfast.policy-bundle/1',
      tenant_id: encodeId('tenant', tenant),
      digest: variant.digest,
      not_before: at.toISOString(),
      expires_at: expires_at.toISOString(),
      content: variant.content,
    })
    const row = { digest: variant.digest, version: variant.version, bundle, expires_at }
    return db.inTenant(tenant, (tx) => queries.putVariant(tx, tenant, row, goodUntil))
  }

  /** Once for all who ask meanwhile: after a publish everyone comes for the same few bundles. */
  function sharedBundle(tenant: TenantId, variant: Variant): ReturnType<typeof signedBundle> {
    const running = bundling.get(variant)
    if (running) return running
    const work = signedBundle(tenant, variant).finally(() => bundling.delete(variant))
    bundling.set(variant, work)
    return work
  }

  /**
   * Its tag names all that it says. One that was signed anew has another: who asks conditionally must not keep the old
   * one until its end.
   */
  async function renewBundle(tenant: TenantId, variant: Variant, m: Made): Promise<Representation<BundleBody>> {
    const { bundle, expires_at } = await sharedBundle(tenant, variant)
    const tag = `${variant.digest}.${variant.channel}-${variant.version}.${Math.floor(expires_at.getTime() / 1000).toString(36)}`
    m.bundle = new Representation<BundleBody>(tag, Buffer.from(JSON.stringify({ ...m.delivered, bundle })))
    m.bundleRenewAt = expires_at.getTime() - bundleLifetime / 2
    return m.bundle
  }

  return {
    pointerFor,
    bundleFor: (
      { device, variant }: Standing,
      m: Made,
    ): Representation<BundleBody> | Promise<Representation<BundleBody>> =>
      m.bundle && now().getTime() < m.bundleRenewAt ? m.bundle : renewBundle(device.tenantId, variant, m),
  }
}
export type Signing = ReturnType<typeof createSigning>
