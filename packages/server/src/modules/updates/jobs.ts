import { eachTenant } from '../../kernel/each-tenant.ts'
import type { UpdatesDeps } from './deps.ts'
import type { Repositories } from './tuf/repository.ts'
import type { Roots } from './tuf/roots.ts'
import { hasMetadata } from './tuf/tuf.queries.ts'

export const updateJobs = ({
  db,
  tenants,
  repositories,
  roots,
  sweep,
}: Pick<UpdatesDeps, 'db' | 'tenants'> & {
  repositories: Repositories
  roots: Roots
  sweep: () => Promise<number>
}) => [
  {
    name: 'renew_update_metadata',
    cron: '5 * * * *',
    /** Refreshes metadata without a request too, so that a client that returns after days finds valid metadata. */
    run: async () =>
      eachTenant(await tenants(), async (tenant) => {
        if (!(await db.inTenant(tenant, (tx) => hasMetadata(tx, tenant)))) return
        await repositories.of(tenant)
        await roots.warn(tenant)
      }),
  },
  { name: 'sweep_packages', cron: '35 * * * *', run: sweep },
]
