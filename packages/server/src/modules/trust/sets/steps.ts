import type { GeneralJws } from '@holdfast/crypto'
import type { Database } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import * as queries from './sets.queries.ts'
import type { SignedTrustSet } from './trust-set.ts'

/** More rotations than this nobody sleeps through; beyond them a client begins anew, over TLS. */
const most = 20

type Listing = { version: number; trust_kids: readonly string[] }
const sharesKey = (a: Listing, b: Listing) => a.trust_kids.some((kid) => b.trust_kids.includes(kid))

/**
 * The fewest sets that lead from one to another: each lists a key of the one before, and so is signed by it. The one it
 * begins with may have been forgotten: then from the oldest that is known.
 */
export function leading(sets: readonly Listing[], to: Listing): number[] | undefined {
  const [first, ...later] = sets
  const path: number[] = []
  for (let at = first; at && !sharesKey(at, to); ) {
    const from: Listing = at
    const next = later.findLast((set) => set.version > from.version && sharesKey(from, set))
    if (!next || path.length === most) return undefined
    path.push(next.version)
    at = next
  }
  return path
}

/** Sets that a client needs between the one it believes and the current one; nearly always none. */
export const createSteps =
  ({ db }: { db: Database }) =>
  (tenant: TenantId, since: number, current: Listing): Promise<GeneralJws[]> =>
    db.inTenant(tenant, async (tx) => {
      const versions = leading(await queries.setsBetween(tx, tenant, since, current.version), current) ?? []
      if (versions.length === 0) return []
      const found = await queries.setsOf(tx, tenant, versions)
      return found.map((row) => (row.document as SignedTrustSet).signed)
    })
