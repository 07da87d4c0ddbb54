import { background } from '../../db/database.ts'
import type { Handlers } from '../../http/handlers.ts'
import { eachTenant } from '../../kernel/each-tenant.ts'
import { pruneCrls } from './crl/crls.queries.ts'
import { type Crls, createCrls } from './crl/crls.ts'
import type { CertificatesDeps } from './deps.ts'
import { createCertificateExpiries } from './expiries.ts'
import { createGatewayAnchors } from './gateway-anchors.ts'
import { createOcsp } from './pki/ocsp.ts'
import { createPki } from './pki/pki.ts'
import { createStatuses } from './pki/statuses.ts'
import { createCertificateStatuses } from './spc/certificate-status.ts'
import { createIssuing } from './spc/issue.ts'
import { spcHandlers } from './spc/spcs.handlers.ts'
import { pruneSpcs, tenantsWithSuperseded } from './spc/spcs.queries.ts'
import { createSpcs, type Spcs } from './spc/spcs.ts'
import { createValidate } from './spc/validate.ts'

export function createCertificates(deps: CertificatesDeps) {
  const crls = createCrls(deps)
  const spcs = createSpcs({ ...deps, crls, issue: createIssuing(deps) })
  const standingOf = createCertificateStatuses(deps)
  const validate = createValidate({ ...deps, standingOf })
  const ocsp = createOcsp({ ...deps, statusesOf: createStatuses({ ...deps, standingOf }) })
  const anchors = createGatewayAnchors({ ...deps, crls })
  return {
    /** Called in the transaction that suspends or removes devices or users. */
    revokeOf: spcs.revokeOf,
    /** Called in the transaction that ends authorities. */
    revokeIssuedBy: spcs.revokeIssuedBy,
    countOfIssuer: spcs.countOfIssuer,
    endsOf: spcs.endsOf,
    isAwaited: anchors.isAwaited,
    expiries: createCertificateExpiries(deps),
    /** Serves the addresses in certificates. */
    pki: createPki({ ...deps, crls, ocsp }),
    jobs: certificateJobs({ ...deps, spcs, crls }),
    prunes: [pruneSpcs, pruneCrls],
    handlers: {
      ...spcHandlers({ ...deps, spcs, validate }),
      gatewayTrustAnchors: ({ actor, query, hold }) => anchors.read(actor, query.since, hold),
    } satisfies Partial<Handlers>,
    stop: (): void => {
      crls.stop()
      anchors.stop()
    },
  }
}

/**
 * Rotated certificates are listed once an hour and not as each ends: a fleet rotates all day, and each CRL goes to
 * every gateway. OCSP and validation report them at once.
 */
const certificateJobs = ({
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
