import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { Coverage, TrustDeps } from '../deps.ts'
import type { SigningKeyRow } from '../keys/keys.queries.ts'
import { firstListing } from '../sets/sets.queries.ts'

const share = (what: string, { total, behind }: Coverage) => (behind > 0 ? [`${behind} of ${total} ${what}`] : [])

/** Returns the reasons why a key is still needed, with counts. Empty if it is not needed. */
export const createNeeded =
  ({ coverageOf, certificatesOf }: Pick<TrustDeps, 'coverageOf' | 'certificatesOf'>) =>
  async (
    tx: Tx,
    tenant: TenantId,
    key: SigningKeyRow,
    heirs: readonly SigningKeyRow[],
    at: Date,
  ): Promise<string[]> => {
    const reasons: string[] = []
    if (key.state === 'retiring' && key.retire_after !== null && key.retire_after > at)
      reasons.push(`its signatures are valid until ${key.retire_after.toISOString()}`)
    if (key.purpose === 'ca-issuing') {
      const certificates = await certificatesOf(tx, tenant, key.signer_id, at)
      if (certificates > 0) reasons.push(`${certificates} certificates that it issued are still valid`)
    }
    const successor = heirs.find((other) => other.state === 'active')
    if ((key.purpose === 'ca-root' || key.purpose === 'trust-set') && successor) {
      const listed = await firstListing(tx, tenant, successor.kid)
      const { devices, gateways } = await coverageOf(tx, tenant, listed ?? Number.MAX_SAFE_INTEGER)
      const behind = [...share('devices', devices), ...share('gateways', gateways)]
      if (behind.length > 0) reasons.push(`${behind.join(' and ')} have not fetched a trust set with its successor`)
    }
    return reasons
  }
