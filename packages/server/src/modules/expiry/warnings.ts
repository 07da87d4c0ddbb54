import { background } from '../../db/database.ts'
import { jobSource, type TenantId } from '../../kernel/actor.ts'
import { eachTenant, TenantGone } from '../../kernel/each-tenant.ts'
import type { Expiry } from '../../kernel/expiry.ts'
import { newUuid } from '../../kernel/ids.ts'
import type { ExpiryDeps } from './deps.ts'
import { type Expiries, endedKeysFor } from './expiries.ts'
import { noticeOf } from './notice.ts'
import { firstWarning, type Threshold, thresholdOf } from './standing.ts'
import * as queries from './warnings.queries.ts'

type Due = queries.Passed & { days: Threshold; expiry: Expiry; cause: string }

/** Keys that end soon, and that have ended, are looked at in their order: more at once wait for those before them. */
const most = 10_000

/**
 * Warns of each thing once at each threshold: what passes one at the same time and is of the same type in one
 * notification, which is closed when nothing in it stands there any more, as it was renewed, is gone, or has passed the
 * next threshold.
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
  /** What could not be asked for is missing: then what is not there proves nothing. */
  async function look(tenant: TenantId): Promise<{ found: Expiry[]; isWhole: boolean }> {
    const at = now()
    const soon = { after: at, until: new Date(at.getTime() + firstWarning) }
    const over = { after: new Date(at.getTime() - endedKeysFor), until: at }
    const ofKeys = [soon, over].map((within) => () => keys.endingKeys(tenant, within, { most }))
    const found: Expiry[] = []
    let isWhole = true
    for (const source of [...(await expiries.sourcesOf(tenant)), ...ofKeys])
      try {
        found.push(...(await source(tenant)))
      } catch (e) {
        if (e instanceof TenantGone) throw e
        isWhole = false
        onError(e)
      }
    return { found, isWhole }
  }

  const raise = (tenant: TenantId, due: readonly Due[]): Promise<void> =>
    db.inTenant(
      tenant,
      async (tx) => {
        const fresh = await queries.claim(tx, tenant, due, now())
        for (const [cause, together] of Map.groupBy(fresh, (d) => d.cause)) {
          const [first, ...more] = together.toSorted((a, b) => a.endsAt.getTime() - b.endsAt.getTime())
          if (!first) continue
          const notice = noticeOf([first.expiry, ...more.map((d) => d.expiry)], first.days, cause, now())
          await notifications.notify(tx, tenant, notice)
        }
      },
      background,
    )

  async function warn(tenant: TenantId): Promise<void> {
    const { found, isWhole } = await look(tenant)
    const due = dueAmong(found, now())
    if (due.length > 0) await raise(tenant, due)
    if (!isWhole) return
    const standing = await db.inTenant(tenant, (tx) => queries.causesOf(tx, tenant, due), background)
    await notifications.closeOthers(jobSource(tenant, 'warn_of_expiry'), 'expiring', standing)
  }

  return { sweep: async (): Promise<void> => eachTenant(await tenants(), warn) }
}

function dueAmong(found: readonly Expiry[], at: Date): Due[] {
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
