import type { PublicJwk, Purpose, Signer, VerificationKey } from '@holdfast/crypto'
import type { TenantId } from '../../kernel/actor.ts'
import { restoreFloorAt } from '../../kernel/restore-floor.ts'
import { Representation } from '../../kernel/results.ts'
import { minute } from '../../kernel/time.ts'
import { everything } from '../../replication/changes.ts'
import { fencedAt } from '../../replication/fenced.ts'
import { tenantCache } from '../../replication/tenant-cache.ts'
import type { TrustDeps } from './deps.ts'
import { makeHierarchy } from './keys/hierarchy.ts'
import { type Keyring, openKeyring } from './keys/keyring.ts'
import * as keyQueries from './keys/keys.queries.ts'
import { makeFirstKeys, makeKey } from './keys/make.ts'
import { KeyAwayError } from './keys/provider.ts'
import * as setQueries from './sets/sets.queries.ts'
import { createTrustSteps } from './sets/steps.ts'
import { listedIn, type SignedTrustSet, saysSo, signTrustSet } from './sets/trust-set.ts'

/** `set` is checked again after `reviewAfter`. */
type Held = {
  keyring: Keyring
  set: SignedTrustSet
  reviewAfter: Date
  representation: Representation<SignedTrustSet>
}
/** A set that could not be renewed stays valid until its end. Renewal is retried this often, in ms. */
const followAgainMs = minute

/** The keys of each tenant and the newest trust set that matches them, cached until one of them changes. */
export function createTrusted({
  db,
  changes,
  feed,
  providers,
  now,
  onError,
}: Pick<TrustDeps, 'db' | 'changes' | 'feed' | 'providers' | 'now' | 'onError'>) {
  const [provider] = providers
  const stepsOf = createTrustSteps({ db })
  const read = (tenant: TenantId) =>
    db.inTenant(tenant, async (tx) => ({
      rows: await keyQueries.usableKeys(tx, tenant),
      crosses: await keyQueries.crossesOf(tx, tenant),
      newest: await setQueries.newestSet(tx, tenant),
      floor: restoreFloorAt(await fencedAt(tx, tenant)),
    }))
  /**
   * Makes the first keys and certificates of a tenant. Of two concurrent callers the first one's are all kept, and none
   * of the other's.
   */
  async function makeKeys(tenant: TenantId) {
    const { root, issuing } = await makeHierarchy(provider, tenant, now())
    const keys = [...(await makeFirstKeys(providers)), root.key, issuing]
    await db.inTenant(tenant, (tx) => keyQueries.insertKeysUnlessThere(tx, tenant, keys, now()))
    return read(tenant)
  }
  async function load(tenant: TenantId): Promise<Held> {
    const found = await read(tenant)
    // The process that made the tenant may have ended before it made the keys.
    const { rows, crosses, newest, floor } = found.rows.length > 0 ? found : await makeKeys(tenant)
    const keyring = await openKeyring(providers, rows, crosses)
    const current = newest?.document as SignedTrustSet | undefined
    // A trust set from before a restore may be older than the clients' one.
    const isKnown = newest !== undefined && newest.version > floor
    const holds = current && isKnown && now() < new Date(current.refresh_after) && saysSo(current, keyring)
    const { set, reviewAfter } = holds
      ? { set: current, reviewAfter: new Date(current.refresh_after) }
      : await follow(tenant, keyring, current, Math.max(newest?.version ?? 0, floor))
    const representation = new Representation<SignedTrustSet>(`ta-${set.version}`, Buffer.from(JSON.stringify(set)))
    return { keyring, set, reviewAfter, representation }
  }

  /**
   * Issues another set. While its signing keys are unavailable, the previous set stays in use, so that clients can
   * verify what is signed.
   */
  async function follow(tenant: TenantId, keyring: Keyring, before: SignedTrustSet | undefined, version: number) {
    try {
      const set = await issue(tenant, keyring, version)
      return { set, reviewAfter: new Date(set.refresh_after) }
    } catch (e) {
      if (!(e instanceof KeyAwayError) || !before || now() >= new Date(before.expires_at)) throw e
      onError(e.cause)
      return { set: before, reviewAfter: new Date(now().getTime() + followAgainMs) }
    }
  }

  /** Issues the next version. If another replica was faster, returns its set. */
  async function issue(tenant: TenantId, keyring: Keyring, version: number): Promise<SignedTrustSet> {
    const set = await signTrustSet(tenant, keyring, version + 1, now())
    return db.inTenant(tenant, async (tx) => {
      const row = { version: set.version, document: set, expires_at: new Date(set.expires_at), ...listedIn(keyring) }
      if (!(await setQueries.insertSet(tx, tenant, row)))
        return (await setQueries.newestSet(tx, tenant))!.document as SignedTrustSet
      await changes.record(tx, tenant, [{ kind: 'trust', subject: everything }])
      return set
    })
  }

  /** Of two concurrent callers the first one's key is kept. */
  async function makeMissing(tenant: TenantId, purpose: Purpose): Promise<void> {
    const key = await makeKey(providers, purpose)
    await db.inTenant(tenant, async (tx) => {
      await keyQueries.insertKeysUnlessThere(tx, tenant, [key], now())
      await changes.record(tx, tenant, [{ kind: 'trust', subject: everything }])
    })
  }

  const { get: trusted } = tenantCache<Held>(
    { changes, feed },
    { kinds: ['trust'], load, isOver: ({ reviewAfter }) => now() >= reviewAfter },
  )

  return {
    trusted,
    /**
     * Returns the set for every reader. A client whose set is too old to verify this one also gets the sets in between.
     */
    anchors: async (tenant: TenantId, since: number | undefined) => {
      const { representation, set, keyring } = await trusted(tenant)
      if (since === undefined || since >= set.version) return representation
      const steps = await stepsOf(tenant, since, { version: set.version, ...listedIn(keyring) })
      if (steps.length === 0) return representation
      return new Representation<SignedTrustSet>(
        `ta-${set.version}.${since}`,
        Buffer.from(JSON.stringify({ ...set, steps })),
      )
    },
    /** Makes the first keys, certificates and trust set of a tenant. Idempotent. */
    provision: async (tenant: TenantId): Promise<void> => {
      await trusted(tenant)
    },
    keyring: async (tenant: TenantId): Promise<Keyring> => (await trusted(tenant)).keyring,
    /** Returns the active key for a purpose. The first request makes the key and adds it to the trust set at once. */
    signerFor: async (tenant: TenantId, purpose: Purpose): Promise<Signer> => {
      const signer = (await trusted(tenant)).keyring.signers.get(purpose)
      if (signer) return signer
      await makeMissing(tenant, purpose)
      return (
        (await trusted(tenant)).keyring.signers.get(purpose) ??
        Promise.reject(new Error(`the tenant has no active key for ${purpose}`))
      )
    },
    /** Returns the key of this tenant with this `kid`, if it may verify signatures of `purpose`. */
    keyFor: (
      tenant: TenantId,
      kid: string,
      purpose: Purpose,
    ): VerificationKey | undefined | Promise<VerificationKey | undefined> => {
      const pick = (t: Held) => {
        const key = t.keyring.verifiers.get(kid)
        return key?.purpose === purpose ? key : undefined
      }
      const t = trusted(tenant)
      return t instanceof Promise ? t.then(pick) : pick(t)
    },
    /** Returns the same key as a reader of the trust set finds. */
    publishedKey: async (tenant: TenantId, kid: string, purpose: Purpose): Promise<PublicJwk | undefined> => {
      const key = (await trusted(tenant)).keyring.verifiers.get(kid)
      return key?.purpose === purpose ? key.jwk : undefined
    },
    versionOf: async (tenant: TenantId): Promise<number> => (await trusted(tenant)).set.version,
  }
}
export type Trusted = ReturnType<typeof createTrusted>
