import { background } from '../../db/database.ts'
import { jobSource } from '../../kernel/actor.ts'
import { eachTenant } from '../../kernel/each-tenant.ts'
import { activeIssuing } from './anchors/rotation.queries.ts'
import type { Rotation } from './anchors/rotation.ts'
import type { TrustDeps } from './deps.ts'
import { renewIssuingAfter } from './keys/hierarchy.ts'
import { dueToDestroy, forgetDestroyed } from './keys/unneeded.queries.ts'
import { dueToRetire } from './signers/signers.queries.ts'
import type { Signers } from './signers/signers.ts'

export function trustJobs({
  db,
  now,
  providers,
  signers,
  rotation,
}: Pick<TrustDeps, 'db' | 'now' | 'providers'> & { signers: Signers; rotation: Rotation }) {
  const retire = async () => {
    const due = await db.acrossTenants((tx) => dueToRetire(tx, now()), background)
    const tenants = Map.groupBy(due, (key) => key.tenant_id)
    await eachTenant(tenants.keys(), async (tenant) => {
      for (const { signer_id } of tenants.get(tenant) ?? [])
        await signers.retireIfDue(jobSource(tenant, 'retire_signers'), signer_id)
    })
  }
  const renew = async () => {
    const madeBefore = new Date(now().getTime() - renewIssuingAfter)
    const due = await db.acrossTenants((tx) => activeIssuing(tx, madeBefore), background)
    await eachTenant(
      due.map((key) => key.tenant_id),
      (tenant) => rotation.renewIssuing(jobSource(tenant, 'renew_issuing_cas')),
    )
  }
  /** Destroys keys in the token after the commit that ended them. If the token is unavailable, the next run retries. */
  const destroy = async (): Promise<number> => {
    const token = providers.find((provider) => provider.destroy)
    const due = token ? await db.acrossTenants(dueToDestroy, background) : []
    for (const kid of due) {
      await token?.destroy?.(kid)
      await db.acrossTenants((tx) => forgetDestroyed(tx, kid), background)
    }
    return due.length
  }
  return [
    { name: 'destroy_token_keys', cron: '* * * * *', run: destroy },
    { name: 'retire_signers', cron: '25 * * * *', run: retire },
    { name: 'renew_issuing_cas', cron: '40 * * * *', run: renew },
  ]
}
