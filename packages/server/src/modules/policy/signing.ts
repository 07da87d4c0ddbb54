import { pollSeconds } from '@holdfast/contract/limits'
import { decodeJws, signJws } from '@holdfast/crypto'
import type { Variant } from '@holdfast/policy'
import type { Database, Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { createGroupCommit } from '../../kernel/group-commit.ts'
import { encodeId } from '../../kernel/ids.ts'
import { Representation } from '../../kernel/results.ts'
import type { Changes, Moment } from '../../replication/changes.ts'
import type { FleetDevice } from '../devices/index.ts'
import { signedLifetimes, type Trust } from '../trust/index.ts'
import * as queries from './policy.queries.ts'

const bundleType = 'policy-bundle+jws'
const pointerType = 'policy-pointer+jwt'
/** Each is signed again on a request after half of its lifetime. */
const { policyBundle: bundleLifetime, policyPointer: pointerLifetime } = signedLifetimes

type Delivered = { channel: 'canary' | 'stable'; version: number; digest: string; seq: number; pointer: string }
export type DigestBody = Delivered & { poll_seconds: number }
export type BundleBody = Delivered & { bundle: string }

/**
 * The variant of a device, and the moment of the change log at which it has it. Nothing else is signed with that
 * moment's number.
 */
export type DevicePolicyState = {
  device: FleetDevice
  variant: Variant
  from: number
  moment: Moment
  /** Time of the request, in ms. */
  askedMs: number
}

/** Results made from a variant at a moment: the signed pointer and the bytes of both answers. */
export type SignedVariant = {
  /** Identifies the tenant's set of keys at signing; see `keysOf`. */
  keys: object
  moment: Moment
  renewAt: number
  delivered: Delivered
  digest: Representation<DigestBody>
  bundle: Representation<BundleBody> | undefined
  bundleRenewAt: number
  /** Pending while the bundle is made, once for all concurrent requests. */
  bundling: Promise<Representation<BundleBody>> | undefined
}

type SignedBundle = { bundle: string; expires_at: Date }

/**
 * Signs bundles on the first request and stores them, so that every replica serves the same bytes. Pointers and answers
 * are cached with the variant and sent unchanged.
 */
export function createSigning({
  db,
  changes,
  trust,
  now,
}: {
  db: Database
  changes: Pick<Changes, 'listen'>
  trust: Pick<Trust, 'signerFor' | 'keyFor'>
  now: () => Date
}) {
  // Object that identifies each tenant's current set of keys. A change of trust replaces it, which invalidates
  // everything signed before.
  const keysOf = new Map<TenantId, object>()
  changes.listen('values', {
    changed: (tenant, list) => {
      if (list.some((c) => c.kind === 'trust')) keysOf.delete(tenant)
    },
    forgotten: (tenant) => {
      if (tenant === undefined) keysOf.clear()
      else keysOf.delete(tenant)
    },
  })
  const currentKeys = (tenant: TenantId): object => {
    const keys = keysOf.get(tenant) ?? {}
    keysOf.set(tenant, keys)
    return keys
  }
  const made = new WeakMap<Variant, SignedVariant>()
  const making = new WeakMap<Variant, Promise<SignedVariant>>()
  // After a publish all devices request the same few bundles, so concurrent requests share transactions. A failure of
  // one tenant does not affect the others.
  const signedBundle = createGroupCommit<{ tenant: TenantId; variant: Variant }, () => SignedBundle>(
    async (asked) => {
      const tenants = Map.groupBy(asked, (a) => a.tenant)
      const outcomes = await Promise.allSettled([...tenants].map(([tenant, own]) => signBundles(tenant, own)))
      const of = new Map([...tenants.keys()].map((tenant, i) => [tenant, outcomes[i]!]))
      return asked.map(({ tenant, variant }) => () => {
        const outcome = of.get(tenant)!
        if (outcome.status === 'rejected') throw outcome.reason
        return outcome.value.get(variant.digest)!
      })
    },
    { tenantOf: (a) => a.tenant, maxBatch: 200, maxQueue: 200_000, maxPerTenant: 100_000 },
  )

  async function sign({ device: { tenantId }, variant, moment }: DevicePolicyState): Promise<SignedVariant> {
    const at = now().getTime()
    const keys = currentKeys(tenantId)
    const { channel, version, digest } = variant
    const delivered = { channel, version, digest, seq: moment.seq }
    const pointer = await signJws(await trust.signerFor(tenantId, 'policy'), pointerType, {
      ...delivered,
      tenant_id: encodeId('tenant', tenantId),
      iat: Math.floor(at / 1000),
      exp: Math.floor((at + pointerLifetime) / 1000),
    })
    const poll_seconds = variant.content.settings.poll_seconds ?? pollSeconds
    const body = Buffer.from(JSON.stringify({ ...delivered, poll_seconds, pointer }))
    const next: SignedVariant = {
      keys,
      moment,
      renewAt: at + pointerLifetime / 2,
      delivered: { ...delivered, pointer },
      digest: new Representation<DigestBody>(digest, body),
      bundle: undefined,
      bundleRenewAt: 0,
      bundling: undefined,
    }
    const before = made.get(variant)
    if (!before || before.moment.seq <= moment.seq) made.set(variant, next)
    return next
  }

  /**
   * Devices of a variant share a pointer. It must be at least as new as the variant of each of them: as the change of
   * the device, that of its policy, and the time of the evaluation.
   */
  function pointerFor(state: DevicePolicyState): SignedVariant | Promise<SignedVariant> {
    const { device, variant, from, askedMs } = state
    const known = made.get(variant)
    if (
      known &&
      known.moment.seq >= device.seq &&
      known.moment.seq >= variant.seq &&
      known.moment.atMs >= from &&
      known.keys === keysOf.get(device.tenantId) &&
      askedMs < known.renewAt
    )
      return known
    const running = making.get(variant)
    if (running) return running.then(() => pointerFor(state))
    const work = sign(state).finally(() => making.delete(variant))
    making.set(variant, work)
    return work
  }

  /**
   * The bundle has no channel or version, so that versions with the same content share these bytes. The pointer has
   * both.
   */
  async function signBundles(
    tenant: TenantId,
    asked: readonly { variant: Variant }[],
  ): Promise<Map<string, SignedBundle>> {
    const variants = new Map(asked.map(({ variant }) => [variant.digest, variant]))
    const at = now()
    const goodUntil = new Date(at.getTime() + bundleLifetime / 2)
    const read = (tx: Tx) => queries.findVariants(tx, tenant, [...variants.keys()], goodUntil)
    const found = new Map((await db.inTenant(tenant, read)).map((v) => [v.digest, v]))
    const dead: string[] = []
    for (const [digest, { bundle }] of found) if (!(await counts(tenant, bundle))) dead.push(digest)
    for (const digest of dead) found.delete(digest)
    const expires_at = new Date(at.getTime() + bundleLifetime)
    const signer = await trust.signerFor(tenant, 'policy')
    const made: (SignedBundle & { digest: string; version: number })[] = []
    for (const { digest, version, content } of variants.values()) {
      if (found.has(digest)) continue
      const bundle = await signJws(signer, bundleType, {
        schema: 'holdfast.policy-bundle/1',
        tenant_id: encodeId('tenant', tenant),
        digest,
        not_before: at.toISOString(),
        expires_at: expires_at.toISOString(),
        content,
      })
      made.push({ digest, version, bundle, expires_at })
    }
    if (made.length > 0)
      for (const v of await db.inTenant(tenant, async (tx) => {
        await queries.deleteVariants(tx, tenant, dead)
        return queries.putVariants(tx, tenant, made, goodUntil)
      }))
        found.set(v.digest, v)
    return found
  }
  /** True if the key of a bundle is still valid. A compromised key invalidates its signatures. */
  async function counts(tenant: TenantId, bundle: string): Promise<boolean> {
    const { kid } = decodeJws(bundle).header
    return typeof kid === 'string' && (await trust.keyFor(tenant, kid, 'policy')) !== undefined
  }

  /**
   * The ETag covers the whole answer. A bundle that was signed again gets a new one, or a conditional request would
   * keep the old bundle until it expires.
   */
  async function makeBundle(tenant: TenantId, variant: Variant, m: SignedVariant): Promise<Representation<BundleBody>> {
    const signed = await signedBundle({ tenant, variant })
    const { bundle, expires_at } = signed()
    const tag = `${variant.digest}.${variant.channel}-${variant.version}.${Math.floor(expires_at.getTime() / 1000).toString(36)}`
    m.bundle = new Representation<BundleBody>(tag, Buffer.from(JSON.stringify({ ...m.delivered, bundle })))
    m.bundleRenewAt = expires_at.getTime() - bundleLifetime / 2
    return m.bundle
  }
  function renewBundle(tenant: TenantId, variant: Variant, m: SignedVariant): Promise<Representation<BundleBody>> {
    m.bundling ??= makeBundle(tenant, variant, m).finally(() => {
      m.bundling = undefined
    })
    return m.bundling
  }

  return {
    pointerFor,
    bundleFor: (
      { device, variant, askedMs }: DevicePolicyState,
      m: SignedVariant,
    ): Representation<BundleBody> | Promise<Representation<BundleBody>> =>
      m.bundle && askedMs < m.bundleRenewAt ? m.bundle : renewBundle(device.tenantId, variant, m),
  }
}
export type Signing = ReturnType<typeof createSigning>
