import { background } from '../../db/database.ts'
import { eachTenant } from '../../kernel/each-tenant.ts'
import type { Crls } from './crl/crls.ts'
import type { CertificatesDeps } from './deps.ts'
import { tenantsWithSuperseded } from './spc/spcs.queries.ts'
import type { Spcs } from './spc/spcs.ts'

/**
 * What was rotated is listed once an hour and not as it ends: a fleet rotates all day, and each list goes to every
 * gateway. Whoever asks here is told at once.
 */
export const certificateJobs = ({
  db,
  now,
  spcs,
  crls,
}: Pick<CertificatesDeps, 'db' | 'now'> & { spcs: Spcs; crls: Crls }) => [
  { name: 'issue_crls', cron: '* * * * *', run: crls.sweep },
  {
    name: 'end_superseded_spcs',
    cron: '50 * * * *',
    run: async () =>
      eachTenant(await db.acrossTenants((tx) => tenantsWithSuperseded(tx, now()), background), spcs.endSuperseded),
  },
]
