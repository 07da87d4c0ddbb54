import { background } from '../../db/database.ts'
import { jobSource } from '../../kernel/actor.ts'
import { eachTenant } from '../../kernel/each-tenant.ts'
import { renewIssuingAfter } from './anchors/hierarchy.ts'
import { activeIssuing } from './anchors/rotation.queries.ts'
import type { Rotation } from './anchors/rotation.ts'
import type { TrustDeps } from './deps.ts'
import { dueToRetire } from './signers/signers.queries.ts'
import type { Signers } from './signers/signers.ts'

export function trustJobs({
  db,
  now,
  signers,
  rotation,
}: Pick<TrustDeps, 'db' | 'now'> & { signers: Signers; rotation: Rotation }) {
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
  return [
    { name: 'retire_signers', cron: '25 * * * *', run: retire },
    { name: 'renew_issuing_cas', cron: '40 * * * *', run: renew },
  ]
}
