import { background } from '../../db/database.ts'
import { jobSource } from '../../kernel/actor.ts'
import { inBatches } from '../../kernel/batches.ts'
import { eachTenantOf } from '../../kernel/each-tenant.ts'
import type { Rotation } from './anchors/rotation.ts'
import type { TrustDeps } from './deps.ts'
import { renewIssuingAfter } from './keys/hierarchy.ts'
import { dueToDestroy, forgetDestroyed } from './keys/keys.queries.ts'
import { activeIssuing, type DueSigner, dueToRetire } from './signers/signers.queries.ts'
import type { Signers } from './signers/signers.ts'

/** Signers read at once. */
const batch = 1000
/** Failures in one run after which the token counts as unavailable. */
const mostFailures = 10

export function trustJobs({
  db,
  now,
  providers,
  signers,
  rotation,
}: Pick<TrustDeps, 'db' | 'now' | 'providers'> & { signers: Signers; rotation: Rotation }) {
  const retire = async () => {
    const at = now()
    const due = inBatches<DueSigner>(batch, (after, limit) =>
      db.acrossTenants((tx) => dueToRetire(tx, at, after, limit), background),
    )
    await eachTenantOf(due, async (tenant, keys) => {
      for (const { signer_id } of keys) await signers.retireIfDue(jobSource(tenant, 'retire_signers'), signer_id)
    })
  }
  const renew = async () => {
    const madeBefore = new Date(now().getTime() - renewIssuingAfter)
    const due = inBatches<DueSigner>(batch, (after, limit) =>
      db.acrossTenants((tx) => activeIssuing(tx, madeBefore, after, limit), background),
    )
    await eachTenantOf(due, (tenant) => rotation.renewIssuing(jobSource(tenant, 'renew_issuing_cas')))
  }
  /**
   * Destroys keys in the token after the commit that ended them. A key that the token keeps does not hold up the
   * others. If the token is unavailable, the next run retries.
   */
  const destroy = async (): Promise<number> => {
    const token = providers.find((provider) => provider.destroy)
    const due = token ? await db.acrossTenants(dueToDestroy, background) : []
    const failures: unknown[] = []
    for (const kid of due) {
      try {
        await token?.destroy?.(kid)
        await db.acrossTenants((tx) => forgetDestroyed(tx, kid), background)
      } catch (e) {
        if (failures.push(e) === mostFailures) break
      }
    }
    if (failures.length > 0) throw failures[0]
    return due.length
  }
  return [
    { name: 'destroy_token_keys', cron: '* * * * *', run: destroy },
    { name: 'retire_signers', cron: '25 * * * *', run: retire },
    { name: 'renew_issuing_cas', cron: '40 * * * *', run: renew },
  ]
}
