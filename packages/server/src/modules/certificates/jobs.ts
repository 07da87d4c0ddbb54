import { background } from '../../db/database.ts'
import { eachTenant } from '../../kernel/each-tenant.ts'
import type { Crls } from './crl/crls.ts'
import type { CertificatesDeps } from './deps.ts'
import { tenantsWithSuperseded } from './spc/spcs.queries.ts'
import type { Spcs } from './spc/spcs.ts'

/**
 * Rotated certificates are listed once an hour and not as each ends: a fleet rotates all day, and each CRL goes to
 * every gateway. OCSP and validation report them at once.
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
