import type { Operation } from '@holdfast/contract'
import type { Config } from '../config/config.ts'
import type { ConsoleBuild } from '../config/console-build.ts'
import type { Secrets } from '../config/secrets.ts'
import type { Database } from '../db/database.ts'
import type { activeTenantsOnly } from '../http/admission/active-tenants-only.ts'
import { createAdmit } from '../http/admission/admit.ts'
import { createForgedTokenFilter } from '../http/admission/forged-token-filter.ts'
import { createIdempotency } from '../http/admission/idempotency.ts'
import { createRefuse } from '../http/admission/refuse.ts'
import { createRefusedReads, refusedFields } from '../http/admission/refused-reads.ts'
import { securityHeadersFor } from '../http/answer/security-headers.ts'
import { createLargeBodies } from '../http/body/large-bodies.ts'
import { createDraining } from '../http/connection/draining.ts'
import type { MinimumRate } from '../http/connection/minimum-rate.ts'
import { createSourceOf } from '../http/connection/source-ip.ts'
import { createFastPath } from '../http/fast-path.ts'
import type { Handlers } from '../http/handlers.ts'
import { registerAssets } from '../http/pages/page-assets.ts'
import { registerPages } from '../http/pages/pages.ts'
import { createUnknownPages } from '../http/pages/unknown-pages.ts'
import { createHttp } from '../http/serve.ts'
import type { Actor } from '../kernel/actor.ts'
import type { AppError } from '../kernel/app-error.ts'
import { createConcurrencyLimiter } from '../kernel/concurrency.ts'
import type { Log } from '../kernel/log.ts'
import type { Origins } from '../kernel/origins.ts'
import type { RequestMetrics } from '../metrics/requests.ts'
import type { Access } from '../modules/access/index.ts'
import type { Audit } from '../modules/audit/index.ts'
import type { createEnrollment } from '../modules/enrollment/index.ts'
import type { Federation } from '../modules/federation/index.ts'
import type { Identity } from '../modules/identity/index.ts'
import type { Policy } from '../modules/policy/index.ts'
import type { Tenancy } from '../modules/tenancy/index.ts'

/** The request pipeline of all endpoints, and the pages beside it, built from the modules. */
export function createPipe({
  config,
  log,
  onError,
  db,
  now,
  kek,
  origins,
  verifiers,
  handlers,
  tls,
  pace,
  consoleBuild,
  requests,
  ...modules
}: {
  config: Config
  log: Log
  onError: (e: unknown) => void
  db: Database
  now: () => Date
  kek: Secrets['kek']
  origins: Origins
  verifiers: ReturnType<typeof activeTenantsOnly>
  handlers: Handlers
  tls: { cert: Buffer; key: Buffer } | undefined
  pace: MinimumRate
  consoleBuild: ConsoleBuild | undefined
  /** Undefined if metrics are not configured. */
  requests: RequestMetrics | undefined
  audit: Audit
  tenancy: Tenancy
  access: Access
  identity: Identity
  federation: Federation
  enrollment: ReturnType<typeof createEnrollment>
  policy: Policy
}) {
  const { audit, tenancy, access, identity, federation, enrollment, policy } = modules
  const { longestWaitSeconds } = config
  const securityHeaders = securityHeadersFor({ publicUrl: origins.publicUrl, isTls: tls !== undefined })
  const sourceOf = createSourceOf(config.trustedProxies, log)
  const refuse = createRefuse({
    audit,
    log,
    onError,
    failuresPerMinute: config.authFailuresPerMinute,
    tenantOfStrangers: () => tenancy.tenantByName('default'),
    attemptRefused: enrollment.refusedAttempts.ofCredential,
  })
  const refusedReads = createRefusedReads({ audit, now, onError })
  const admit = createAdmit({
    verifiers,
    audit,
    origins,
    sourceOf,
    refuse,
    rates: access.rates,
    log,
    tenantExists: tenancy.exists,
  })
  const inFront = [
    createFastPath({ reads: policy.reads, verifiers, refuse, sourceOf, securityHeaders, log, longestWaitSeconds }),
    createForgedTokenFilter({ verifiers, refuse, sourceOf, securityHeaders, log }),
  ]
  const recordRefusal = (actor: Actor, operation: Operation, error: AppError) =>
    audit.refused(actor, refusedFields(operation, error.code), error.code, error.message)
  const { browser } = identity
  const draining = createDraining()
  const idempotency = createIdempotency({ db, kek, onError, provenKeyOf: enrollment.provenKeyOf })
  const http = createHttp({
    maxConnections: config.maxConnections,
    costly: createConcurrencyLimiter({ perKey: 3, total: 8, waiting: 64 }),
    takeLargeBody: createLargeBodies(),
    pace,
    longestWaitSeconds,
    handlers,
    inFront,
    admit,
    draining,
    counting: requests?.around,
    isOf: requests?.isOf,
    idempotency,
    requireStepUp: identity.requireStepUp,
    refusedLate: refuse.late,
    attemptRefused: enrollment.refusedAttempts.ofRequest,
    recordRefusal,
    recordRefusedRead: refusedReads.record,
    securityHeaders,
    unknownPages: createUnknownPages({ ...browser, admit, log }),
    log,
    ...(tls && { https: tls }),
  })
  const pages = { ...browser.pages, ...federation.pages }
  const forms = { ...browser.forms, ...federation.forms }
  const recordRefusedRead = refusedReads.record
  registerPages(http, { ...browser, admit, sourceOf, origins, log, recordRefusal, recordRefusedRead, pages, forms })
  registerAssets(http, new Map([...browser.assets, ...(consoleBuild?.files ?? [])]))
  const flushRefusals = () => Promise.all([refuse.flush(), refusedReads.flush()])
  return { http, draining, idempotency, sourceOf, flushRefusals }
}
