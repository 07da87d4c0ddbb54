import { certificateInfo, type Kek, type Purpose, type Signer, type VerificationKey } from '@holdfast/crypto'
import type { Database } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import { Representation } from '../../kernel/representation.ts'
import type { Changes } from '../../memory/changes.ts'
import { everything } from '../../memory/changes.ts'
import { held, type Memory } from '../../memory/held.ts'
import { type Keyring, makeFirstKeys, makeKey, openKeyring } from './keys.ts'
import * as queries from './trust.queries.ts'
import { type SignedTrustSet, saysSo, signTrustSet } from './trust-set.ts'

type Trusted = { keyring: Keyring; set: SignedTrustSet; representation: Representation<SignedTrustSet> }

export type TrustDeps = { db: Database; changes: Changes; feed: Memory['feed']; kek: Kek; now: () => Date }

export function createTrustRules({ db, changes, feed, kek, now }: TrustDeps) {
  const read = (tenant: TenantId) =>
    db.inTenant(tenant, async (tx) => ({
      rows: await queries.usableKeys(tx, tenant),
      newest: await queries.newestSet(tx, tenant),
    }))
  /**
   * The first keys and certificates of a tenant; of two makers at once all of the first one's and none of the other's.
   */
  async function makeKeys(tenant: TenantId) {
    const keys = await makeFirstKeys(tenant, kek, now())
    await db.inTenant(tenant, (tx) => queries.insertKeysUnlessThere(tx, tenant, keys))
    return read(tenant)
  }
  async function load(tenant: TenantId): Promise<Trusted> {
    const found = await read(tenant)
    // Whoever made the tenant may have ended before its keys were there.
    const { rows, newest } = found.rows.length > 0 ? found : await makeKeys(tenant)
    const keyring = await openKeyring(kek, rows)
    const current = newest?.document as SignedTrustSet | undefined
    const holds = current && now() < new Date(current.refresh_after) && saysSo(current, keyring)
    const set = holds ? current : await issue(tenant, keyring, newest?.version ?? 0)
    const representation = new Representation<SignedTrustSet>(`ta-${set.version}`, Buffer.from(JSON.stringify(set)))
    return { keyring, set, representation }
  }

  /** The next version; where another replica was faster, its set. */
  async function issue(tenant: TenantId, keyring: Keyring, version: number): Promise<SignedTrustSet> {
    const set = await signTrustSet(tenant, keyring, version + 1, now())
    return db.inTenant(tenant, async (tx) => {
      const row = { version: set.version, document: set, expires_at: new Date(set.expires_at) }
      if (!(await queries.insertSet(tx, tenant, row)))
        return (await queries.newestSet(tx, tenant))!.document as SignedTrustSet
      await changes.record(tx, tenant, [{ kind: 'trust', subject: everything }])
      return set
    })
  }

  /** Of two makers at once the first one's key holds. */
  async function makeMissing(tenant: TenantId, purpose: Purpose): Promise<void> {
    const key = await makeKey(purpose, kek)
    await db.inTenant(tenant, async (tx) => {
      await queries.insertKeysUnlessThere(tx, tenant, [key])
      await changes.record(tx, tenant, [{ kind: 'trust', subject: everything }])
    })
  }

  const { get: trusted } = held<Trusted>(
    { changes, feed },
    { kinds: ['trust'], load, isOver: ({ set }) => now() >= new Date(set.refresh_after) },
  )

  return {
    /** The set as every reader gets it. */
    anchors: async (tenant: TenantId) => (await trusted(tenant)).representation,
    /** Makes the first keys, certificates and trust set of a tenant; once. */
    provision: async (tenant: TenantId): Promise<void> => {
      await trusted(tenant)
    },
    /** The active key for a purpose; the first one is made when it is first asked for, and in the trust set at once. */
    signerFor: async (tenant: TenantId, purpose: Purpose): Promise<Signer> => {
      const signer = (await trusted(tenant)).keyring.signers.get(purpose)
      if (signer) return signer
      await makeMissing(tenant, purpose)
      return (
        (await trusted(tenant)).keyring.signers.get(purpose) ??
        Promise.reject(new Error(`the tenant has no active key for ${purpose}`))
      )
    },
    /** The key of this tenant with this `kid`, if it may verify what `purpose` signs. */
    keyFor: (
      tenant: TenantId,
      kid: string,
      purpose: Purpose,
    ): VerificationKey | undefined | Promise<VerificationKey | undefined> => {
      const pick = (t: Trusted) => {
        const key = t.keyring.verifiers.get(kid)
        return key?.purpose === purpose ? key : undefined
      }
      const t = trusted(tenant)
      return t instanceof Promise ? t.then(pick) : pick(t)
    },
    /**
     * The ends of the CA certificates in use and of the newest trust set, which is issued anew first where that is due.
     */
    certificateExpiries: async (tenant: TenantId) => {
      const { keyring, set } = await trusted(tenant)
      const certificates = keyring.rows.flatMap((row) => {
        if (row.certificate === null) return []
        const { subject, not_before, not_after } = certificateInfo(row.certificate)
        const id = encodeId('signer', row.signer_id)
        return { type: 'certificate', id, name: subject, since: new Date(not_before), expiresAt: new Date(not_after) }
      })
      const [since, expiresAt] = [new Date(set.issued_at), new Date(set.expires_at)]
      return [
        ...certificates,
        { type: 'trust_set', id: `ta-${set.version}`, name: `version ${set.version}`, since, expiresAt },
      ]
    },
    versionOf: async (tenant: TenantId): Promise<number> => (await trusted(tenant)).set.version,
  }
}
