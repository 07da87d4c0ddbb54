import { certificateInfo } from '@holdfast/crypto'
import type { TenantId } from '../../kernel/actor.ts'
import type { ExpiringObject } from '../../kernel/expiring-object.ts'
import { encodeId } from '../../kernel/ids.ts'
import { day, hour } from '../../kernel/time.ts'
import type { TrustDeps } from './deps.ts'
import { renewIssuingAfter } from './keys/hierarchy.ts'
import * as keyQueries from './keys/keys.queries.ts'
import * as setQueries from './sets/sets.queries.ts'
import type { SignedTrustSet } from './sets/trust-set.ts'
import type { Trusted } from './trust.ts'

type Found = {
  rows: readonly keyQueries.SigningKeyRow[]
  crosses: readonly keyQueries.CrossRow[]
  set: SignedTrustSet | undefined
}

/** The expiries of authorities, of retiring keys, and of the newest trust set. */
export const createTrustExpiries = ({ db, now, trusted }: Pick<TrustDeps, 'db' | 'now'> & { trusted: Trusted }) => {
  const read = (tenant: TenantId): Promise<Found> =>
    db.inTenant(tenant, async (tx) => ({
      rows: await keyQueries.usableKeys(tx, tenant),
      crosses: await keyQueries.crossesOf(tx, tenant),
      set: (await setQueries.newestSet(tx, tenant))?.document as SignedTrustSet | undefined,
    }))
  /**
   * Requests the trust set, which is issued anew on request. False if that fails: the old one is then still the newest.
   */
  const issue = async (tenant: TenantId): Promise<boolean> => {
    try {
      await trusted.trusted(tenant)
      return true
    } catch {
      return false
    }
  }

  return async (tenant: TenantId): Promise<ExpiringObject[]> => {
    const found = await read(tenant)
    const isDue = !found.set || now() >= new Date(found.set.refresh_after)
    return expiriesOf(isDue && (await issue(tenant)) ? await read(tenant) : found)
  }
}

const expiriesOf = ({ rows, crosses, set }: Found): ExpiringObject[] => [
  ...rows.flatMap((row) => (row.certificate === null ? (retiring(row) ?? []) : authority(row, row.certificate))),
  ...crosses.map(({ subject_id, certificate, created_at: since, not_after: expiresAt }): ExpiringObject => {
    const id = encodeId('signer', subject_id)
    // It ends with one of its roots, and that root is listed itself.
    return {
      type: 'cross_certificate',
      id,
      name: certificateInfo(certificate).subject,
      since,
      expiresAt,
      renewal: 'not_needed',
    }
  }),
  ...(set ? [expiryOfSet(set)] : []),
]

function authority(
  { signer_id, purpose, state, created_at, retire_after }: keyQueries.SigningKeyRow,
  pem: string,
): ExpiringObject {
  const { subject, not_before, not_after } = certificateInfo(pem)
  const ends = new Date(not_after)
  const of = { id: encodeId('signer', signer_id), name: subject, since: new Date(not_before) }
  const type = purpose === 'ca-root' ? 'trust_anchor' : 'issuing_ca'
  if (state === 'retiring')
    return { ...of, type, expiresAt: retire_after && retire_after < ends ? retire_after : ends, renewal: 'not_needed' }
  const renewed = new Date(created_at.getTime() + renewIssuingAfter + day)
  // The lifetime of this issuing CA was cut by the end of its root, so it has no successor under that root.
  const renewal = type === 'issuing_ca' && renewed < ends ? renewed : 'by_hand'
  return { ...of, type, expiresAt: ends, renewal }
}

/** A key has an end once another one has replaced it. */
const retiring = ({ signer_id, purpose, activated_at, created_at, retire_after }: keyQueries.SigningKeyRow) =>
  retire_after
    ? ({
        type: 'signing_key',
        id: encodeId('signer', signer_id),
        name: purpose,
        since: activated_at ?? created_at,
        expiresAt: retire_after,
        renewal: 'not_needed',
      } satisfies ExpiringObject)
    : undefined

const expiryOfSet = ({ version, issued_at, expires_at, refresh_after }: SignedTrustSet): ExpiringObject => ({
  type: 'trust_set',
  id: `ta-${version}`,
  name: `version ${version}`,
  since: new Date(issued_at),
  expiresAt: new Date(expires_at),
  renewal: new Date(Date.parse(refresh_after) + hour),
})
