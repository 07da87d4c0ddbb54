import type { Handlers } from '../../http/handlers.ts'
import { pruneCrls } from './crl/crls.queries.ts'
import { createCrls } from './crl/crls.ts'
import type { CertificatesDeps } from './deps.ts'
import { createCertificateExpiries } from './expiries.ts'
import { createGatewayAnchors } from './gateway-anchors.ts'
import { certificateJobs } from './jobs.ts'
import { createOcsp } from './pki/ocsp.ts'
import { createPki } from './pki/pki.ts'
import { createStatuses } from './pki/statuses.ts'
import { createCertificateStatuses } from './spc/certificate-status.ts'
import { createIssuing } from './spc/issue.ts'
import { spcHandlers } from './spc/spcs.handlers.ts'
import { pruneSpcs } from './spc/spcs.queries.ts'
import { createSpcs } from './spc/spcs.ts'
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
