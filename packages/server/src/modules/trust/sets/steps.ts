import type { GeneralJws } from '@holdfast/crypto'
import type { Database } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import * as queries from './sets.queries.ts'
import type { SignedTrustSet } from './trust-set.ts'

/** A client that missed more rotations than this starts again over TLS. */
const most = 20

type Listing = { version: number; trust_kids: readonly string[] }
const sharesKey = (a: Listing, b: Listing) => a.trust_kids.some((kid) => b.trust_kids.includes(kid))

/**
 * Returns the shortest chain of sets from the first one to `to`. Each set lists a key of the one before, and so is
 * signed by it. If the client's set was pruned, the chain starts at the oldest known one.
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

/** Returns the sets that a client needs between its own and the current one; nearly always none. */
export const createTrustSteps =
  ({ db }: { db: Database }) =>
  (tenant: TenantId, since: number, current: Listing): Promise<GeneralJws[]> =>
    db.inTenant(tenant, async (tx) => {
      const versions = leading(await queries.setsBetween(tx, tenant, since, current.version), current) ?? []
      if (versions.length === 0) return []
      const found = await queries.setsOf(tx, tenant, versions)
      return found.map((row) => (row.document as SignedTrustSet).signed)
    })
