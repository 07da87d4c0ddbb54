import { background } from '../../db/database.ts'
import { jobSource, type TenantId } from '../../kernel/actor.ts'
import { inBatches } from '../../kernel/batches.ts'
import { eachTenant, TenantGone } from '../../kernel/each-tenant.ts'
import type { ExpiringObject } from '../../kernel/expiring-object.ts'
import { newUuid } from '../../kernel/ids.ts'
import type { ExpiryDeps } from './deps.ts'
import { type Expiries, endedKeysFor } from './expiries.ts'
import { expiryNotice } from './notice.ts'
import { firstWarning, type Threshold, thresholdOf } from './standing.ts'
import * as queries from './warnings.queries.ts'

type Key = Awaited<ReturnType<ExpiryDeps['keys']['endingKeys']>>[number]
type Due = queries.PassedThreshold & { days: Threshold; expiry: ExpiringObject; cause: string }

/** Number of API keys read at once. */
const portion = 5000

/**
 * Warns of each item once at each threshold. Items of one type that pass a threshold at the same time share one
 * notification. It is closed when none of its items is at that threshold any more: renewed, deleted, or past the next
 * threshold.
 */
export function createWarnings({
  db,
  now,
  onError,
  tenants,
  notifications,
  keys,
  expiries,
}: Pick<ExpiryDeps, 'db' | 'now' | 'onError' | 'tenants' | 'notifications' | 'keys'> & {
  expiries: Pick<Expiries, 'sourcesOf'>
}) {
  /** Yields batches of what ends soon or has ended. Yields undefined for a source that failed. */
  async function* look(tenant: TenantId, at: Date): AsyncGenerator<readonly ExpiringObject[] | undefined, void> {
    const within = { after: new Date(at.getTime() - endedKeysFor), until: new Date(at.getTime() + firstWarning) }
    const ofKeys = () =>
      inBatches<Key>(portion, (behind, most) => keys.endingKeys(tenant, within, { most, ...(behind && { behind }) }))
    for (const source of [...(await expiries.sourcesOf(tenant)), ofKeys])
      try {
        yield* source(tenant)
      } catch (e) {
        if (e instanceof TenantGone) throw e
        onError(e)
        yield undefined
      }
  }

  /**
   * Notifies administrators of the items that are new, and returns the causes of the notifications that cover any of
   * them.
   */
  const raise = (tenant: TenantId, due: readonly Due[]): Promise<Set<string>> =>
    db.inTenant(
      tenant,
      async (tx) => {
        const fresh = await queries.claim(tx, tenant, due, now())
        for (const [cause, together] of Map.groupBy(fresh, (d) => d.cause)) {
          const [first, ...more] = together.toSorted((a, b) => a.endsAt.getTime() - b.endsAt.getTime())
          if (!first) continue
          const notice = expiryNotice([first.expiry, ...more.map((d) => d.expiry)], first.days, cause, now())
          await notifications.notify(tx, tenant, notice)
        }
        return queries.causesOf(tx, tenant, due)
      },
      background,
    )

  async function warn(tenant: TenantId): Promise<void> {
    const at = now()
    const currentCauses = new Set<string>()
    let isWhole = true
    for await (const found of look(tenant, at)) {
      if (!found) isWhole = false
      const due = dueAmong(found ?? [], at)
      if (due.length > 0) for (const cause of await raise(tenant, due)) currentCauses.add(cause)
    }
    // The items of a failed source may still be due, so their notifications stay open.
    if (isWhole) await notifications.closeOthers(jobSource(tenant, 'warn_of_expiry'), 'expiring', currentCauses)
  }

  return { sweep: async (): Promise<void> => eachTenant(await tenants(), warn) }
}

function dueAmong(found: readonly ExpiringObject[], at: Date): Due[] {
  const causes = new Map<string, string>()
  return found.flatMap((expiry) => {
    const days = thresholdOf(expiry, at)
    if (days === undefined) return []
    const { type, id, expiresAt: endsAt } = expiry
    const together = `${type} ${days}`
    const cause = causes.get(together) ?? `expiring:${newUuid()}`
    causes.set(together, cause)
    return [{ type, id, endsAt, days, expiry, cause }]
  })
}
