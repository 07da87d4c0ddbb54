import type { Operation } from '@holdfast/contract'
import type { Config } from './config/config.ts'
import type { Secrets } from './config/secrets.ts'
import type { Database } from './db/database.ts'
import { createAdmit } from './http/admit.ts'
import { createDraining } from './http/draining.ts'
import type { Handlers } from './http/handlers.ts'
import { createIdempotency } from './http/idempotency.ts'
import { createLargeBodies } from './http/large-bodies.ts'
import { createNeverIssued } from './http/never-issued.ts'
import type { ofOpenTenants } from './http/of-open-tenants.ts'
import type { Pace } from './http/pace.ts'
import { registerPages } from './http/pages.ts'
import { createRefuse } from './http/refuse.ts'
import { createHttp } from './http/serve.ts'
import { createWarmReads } from './http/warm-reads.ts'
import type { Actor } from './kernel/actor.ts'
import type { AppError } from './kernel/app-error.ts'
import { createGate } from './kernel/gate.ts'
import type { Log } from './kernel/log.ts'
import type { Origins } from './kernel/origins.ts'
import type { RequestMetrics } from './metrics/requests.ts'
import type { Access } from './modules/access/index.ts'
import type { Audit } from './modules/audit/index.ts'
import type { createEnrollment } from './modules/enrollment/index.ts'
import type { Federation } from './modules/federation/index.ts'
import type { Identity } from './modules/identity/index.ts'
import type { Policy } from './modules/policy/index.ts'
import type { Tenancy } from './modules/tenancy/index.ts'

/** The one pipe that every request passes, and the pages beside it, on what the modules offer it. */
export function createPipe({
  config,
  log,
  onError,
  db,
  kek,
  origins,
  verifiers,
  handlers,
  tls,
  pace,
  requests,
  ...modules
}: {
  config: Config
  log: Log
  onError: (e: unknown) => void
  db: Database
  kek: Secrets['kek']
  origins: Origins
  verifiers: ReturnType<typeof ofOpenTenants>
  handlers: Handlers
  tls: { cert: Buffer; key: Buffer } | undefined
  pace: Pace
  /** Undefined where nobody asks for metrics. */
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
  const { trustedProxies } = config
  const refuse = createRefuse({
    audit,
    log,
    onError,
    failuresPerMinute: config.authFailuresPerMinute,
    tenantOfStrangers: () => tenancy.tenantByName('default'),
  })
  const admit = createAdmit({
    verifiers,
    audit,
    origins,
    trustedProxies,
    refuse,
    rates: access.rates,
    log,
    tenantExists: tenancy.exists,
  })
  const inFront = [
    createWarmReads({ reads: policy.reads, verifiers, refuse, trustedProxies, log }),
    createNeverIssued({ verifiers, refuse, trustedProxies, log }),
  ]
  const recordRefusal = (actor: Actor, operation: Operation, error: AppError) =>
    audit.refused(actor, operation, error.code, error.message)
  const draining = createDraining()
  const idempotency = createIdempotency({ db, kek, onError, provenKeyOf: enrollment.provenKeyOf })
  const http = createHttp({
    maxConnections: config.maxConnections,
    costly: createGate({ perKey: 3, total: 8, waiting: 64 }),
    takeLargeBody: createLargeBodies(),
    pace,
    handlers,
    inFront,
    admit,
    draining,
    counting: requests?.around,
    isOf: requests?.isOf,
    idempotency,
    requireStepUp: identity.requireStepUp,
    refusedLate: refuse.late,
    recordRefusal,
    log,
    ...(tls && { https: tls }),
  })
  const { browser } = identity
  const pages = { ...browser.pages, ...federation.pages }
  const forms = { ...browser.forms, ...federation.forms }
  registerPages(http, { ...browser, admit, trustedProxies, origins, log, recordRefusal, pages, forms })
  return { http, draining, idempotency, refuse }
}
