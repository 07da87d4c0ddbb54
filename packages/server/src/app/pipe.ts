import type { Operation } from '@holdfast/contract'
import type { activeTenantsOnly } from '../http/admission/active-tenants-only.ts'
import { createAdmit } from '../http/admission/admit.ts'
import { createForgedTokenFilter } from '../http/admission/forged-token-filter.ts'
import { createIdempotency } from '../http/admission/idempotency.ts'
import { createRefuse } from '../http/admission/refuse.ts'
import { createRefusedReads, refusedFields } from '../http/admission/refused-reads.ts'
import { securityHeadersFor } from '../http/answer/security-headers.ts'
import { createLargeBodies } from '../http/body/large-bodies.ts'
import { createDraining } from '../http/connection/draining.ts'
import { createSourceOf } from '../http/connection/source-ip.ts'
import { createFastPath } from '../http/fast-path.ts'
import { registerAssets } from '../http/pages/page-assets.ts'
import { registerPages } from '../http/pages/pages.ts'
import { createUnknownPages } from '../http/pages/unknown-pages.ts'
import { createHttp } from '../http/serve.ts'
import type { Actor } from '../kernel/actor.ts'
import type { AppError } from '../kernel/app-error.ts'
import { createConcurrencyLimiter } from '../kernel/concurrency.ts'
import type { RequestMetrics } from '../metrics/requests.ts'
import type { Base, CompleteDeps } from './base.ts'
import type { Modules } from './modules.ts'

type Verifiers = ReturnType<typeof activeTenantsOnly>

/**
 * The request pipeline of all endpoints, and the pages beside it, built from the modules.
 *
 * @param requests counts requests; undefined if metrics are not configured
 */
export function createPipe(
  base: Base,
  deps: CompleteDeps,
  modules: Modules,
  { verifiers, requests }: { verifiers: Verifiers; requests: RequestMetrics | undefined },
) {
  const { config, log, pace } = deps
  const { identity, enrollment, policy, handlers, tls } = modules
  const { longestWaitSeconds } = config
  const securityHeaders = securityHeadersFor({ publicUrl: base.publicUrl, isTls: tls !== undefined })
  const admission = createAdmission(base, deps, modules, verifiers)
  const { refuse, admit, sourceOf, recordRefusal, recordRefusedRead, flushRefusals } = admission
  const beforeRouter = { verifiers, refuse, sourceOf, securityHeaders, log }
  const draining = createDraining()
  const idempotency = createIdempotency({ ...base, provenKeyOf: enrollment.provenKeyOf })
  const http = createHttp({
    maxConnections: config.maxConnections,
    costly: createConcurrencyLimiter({ perKey: 3, total: 8, waiting: 64 }),
    takeLargeBody: createLargeBodies(),
    pace,
    longestWaitSeconds,
    handlers,
    inFront: [
      createFastPath({ ...beforeRouter, reads: policy.reads, longestWaitSeconds }),
      createForgedTokenFilter(beforeRouter),
    ],
    admit,
    draining,
    counting: requests?.around,
    isOf: requests?.isOf,
    idempotency,
    requireStepUp: identity.requireStepUp,
    refusedLate: refuse.late,
    attemptRefused: enrollment.refusedAttempts.ofRequest,
    recordRefusal,
    recordRefusedRead,
    securityHeaders,
    unknownPages: createUnknownPages({ ...identity.browser, admit, log }),
    log,
    ...(tls && { https: tls }),
  })
  addPages(http, base, deps, modules, admission)
  return { http, draining, idempotency, sourceOf, flushRefusals }
}

/** The checks before a body is read, and the records of refusals. */
function createAdmission(
  { origins, now, onError }: Base,
  { config, log }: CompleteDeps,
  { audit, tenancy, access, enrollment }: Modules,
  verifiers: Verifiers,
) {
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
  return {
    sourceOf,
    refuse,
    admit,
    recordRefusal: (actor: Actor, operation: Operation, error: AppError) =>
      audit.refused(actor, refusedFields(operation, error.code), error.code, error.message),
    recordRefusedRead: refusedReads.record,
    flushRefusals: () => Promise.all([refuse.flush(), refusedReads.flush()]),
  }
}

/** The pages for signing in and for required actions, and the files of the console. */
function addPages(
  http: ReturnType<typeof createHttp>,
  { origins }: Base,
  { log, consoleBuild }: CompleteDeps,
  { identity: { browser }, federation }: Modules,
  admission: ReturnType<typeof createAdmission>,
): void {
  const pages = { ...browser.pages, ...federation.pages }
  const forms = { ...browser.forms, ...federation.forms }
  registerPages(http, { ...browser, ...admission, origins, log, pages, forms })
  registerAssets(http, new Map([...browser.assets, ...(consoleBuild?.files ?? [])]))
}
