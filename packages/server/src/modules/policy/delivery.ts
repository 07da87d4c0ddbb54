import { signJws } from '@holdfast/crypto'
import type { Database } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import { whenReady } from '../../kernel/ready.ts'
import { Representation } from '../../kernel/representation.ts'
import type { Feed } from '../../memory/feed.ts'
import type { FleetDevice } from '../devices/index.ts'
import type { Trust } from '../trust/index.ts'
import * as queries from './policy.queries.ts'
import type { PolicyStore } from './store.ts'
import type { Variant } from './tenant-policy.ts'

export const bundleType = 'policy-bundle+jws'
export const pointerType = 'policy-pointer+jwt'
const hour = 3_600_000
/** A bundle is good for a day and signed anew for those who ask after half of it; a pointer for an hour, likewise. */
const bundleLifetime = 24 * hour
const pointerLifetime = hour
export const defaultPollSeconds = 30

export type Delivered = { channel: 'canary' | 'stable'; version: number; digest: string; seq: number; pointer: string }
type DigestBody = Delivered & { poll_seconds: number }
type BundleBody = Delivered & { bundle: string }

/** What was made of a variant: the signed pointer and the bytes of both answers. */
type Made = {
  seq: number
  renewAt: number
  delivered: Delivered
  digest: Representation<DigestBody>
  bundle: Representation<BundleBody> | undefined
  bundleRenewAt: number
}

/**
 * Turns variants into answers. Bundles are signed by whoever needs them first and stored, so that every replica serves
 * the same bytes; pointers and answers are kept beside the variant and sent as they are.
 */
export function createDelivery({
  db,
  store,
  trust,
  feed,
  now,
}: {
  db: Database
  store: PolicyStore
  trust: Trust
  feed: Feed
  now: () => Date
}) {
  const made = new WeakMap<Variant, Made>()
  const making = new WeakMap<Variant, Promise<Made>>()
  const signing = new WeakMap<Variant, ReturnType<typeof signedBundle>>()

  async function point(tenant: TenantId, variant: Variant, seq: number): Promise<Made> {
    const at = now().getTime()
    const delivered = { channel: variant.channel, version: variant.version, digest: variant.digest, seq }
    const pointer = await signJws(await trust.signerFor(tenant, 'policy'), pointerType, {
      ...delivered,
      tenant_id: encodeId('tenant', tenant),
      iat: Math.floor(at / 1000),
      exp: Math.floor((at + pointerLifetime) / 1000),
    })
    const poll_seconds = variant.content.settings.poll_seconds ?? defaultPollSeconds
    const before = made.get(variant)
    const next: Made = {
      seq,
      renewAt: at + pointerLifetime / 2,
      delivered: { ...delivered, pointer },
      digest: new Representation<DigestBody>(
        variant.digest,
        Buffer.from(JSON.stringify({ ...delivered, poll_seconds, pointer })),
      ),
      bundle: undefined,
      bundleRenewAt: before?.bundleRenewAt ?? 0,
    }
    if (!before || before.seq <= seq) made.set(variant, next)
    return next
  }

  /** The pointer's sequence number is never older than the change that gave the device this variant. */
  function deliver(device: FleetDevice, variant: Variant): Made | Promise<Made> {
    const known = made.get(variant)
    const needed = Math.max(device.seq, variant.seq)
    if (known && known.seq >= needed && now().getTime() < known.renewAt) return known
    const running = making.get(variant)
    if (running) return running.then(() => deliver(device, variant))
    const work = point(device.tenantId, variant, Math.max(feed.seqOf(device.tenantId), needed)).finally(() =>
      making.delete(variant),
    )
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
    const running = signing.get(variant)
    if (running) return running
    const work = signedBundle(tenant, variant).finally(() => signing.delete(variant))
    signing.set(variant, work)
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

  const variantOf = (device: FleetDevice): Variant | Promise<Variant> =>
    whenReady(store.at(device.tenantId), (policy) => policy.variantOf(device, now().getTime()))

  /** Warm calls are synchronous. */
  return {
    variantOf,
    digest: (device: FleetDevice) =>
      whenReady(variantOf(device), (variant) => whenReady(deliver(device, variant), (m) => m.digest)),
    bundle: (device: FleetDevice) =>
      whenReady(variantOf(device), (variant) =>
        whenReady(deliver(device, variant), (m) =>
          m.bundle && now().getTime() < m.bundleRenewAt ? m.bundle : renewBundle(device.tenantId, variant, m),
        ),
      ),
  }
}
export type Delivery = ReturnType<typeof createDelivery>
