import { ensurePartitions } from '../db/partitions.ts'
import { activeTenantsOnly } from '../http/admission/active-tenants-only.ts'
import { createDeviceVerifier } from '../modules/devices/index.ts'
import { type AppDeps, applyDefaults, type Base, createBase } from './base.ts'
import { appJobs } from './jobs.ts'
import { createListeners } from './listeners.ts'
import { createAppMetrics, createMeters } from './metrics.ts'
import { createModules, type Modules } from './modules.ts'
import { createPipe } from './pipe.ts'
import { createShutdown } from './shutdown.ts'

/** The composition root: makes the base, the modules, and the process around them. */
export function createApp(appDeps: AppDeps) {
  const deps = applyDefaults(appDeps)
  const { config, secrets, log } = deps
  const base = createBase(deps)
  const { db, changes, feed, onError } = base
  const modules = createModules(base, deps)
  const meters = config.metrics && createMeters()
  const verifiers = verifiersOf(base, modules)
  const pipe = createPipe(base, deps, modules, { verifiers, requests: meters?.requests })
  const metrics = meters && createAppMetrics({ ...modules, config, secrets, db, feed, onError, meters })
  const answers = { pki: modules.certificates.pki, metrics }
  const listeners = createListeners({ config, draining: pipe.draining, log, sourceOf: pipe.sourceOf, answers })
  const jobs = appJobs(base, modules, pipe.idempotency.forgetOld)
  const { tenancy, access, identity, trust, fleet, policy, gateways, devices, notifications, stream, health } = modules
  return {
    http: pipe.http,
    /** Each undefined if the operator does not configure it. */
    listeners,
    jobs: meters?.jobs.around(jobs) ?? jobs,
    db,
    changes,
    feed,
    tenancy,
    access,
    identity,
    trust,
    fleet,
    policy,
    gateways,
    devices,
    notifications,
    stream,
    /** Reports the server as ready: from now on users can sign in. */
    markReady: health.open,
    start: () => start(base, modules),
    ...shutdownOf(base, modules, pipe, listeners),
  }
}
export type App = ReturnType<typeof createApp>

/** One verifier for each kind of credential. They refuse callers of a tenant that is not active. */
const verifiersOf = (
  base: Base,
  { access, activity, enrollment, fleet, gateways, identity, tenancy, trust }: Modules,
) =>
  activeTenantsOnly(
    {
      readToken: access.readToken,
      service: gateways.service,
      session: identity.verifySession,
      api_key: access.verifyApiKey,
      device: createDeviceVerifier({ ...base, trust, rates: access.rates, fleet, onSeen: activity.seen }),
      gateway: gateways.verifyGateway,
      ...enrollment.verifiers,
    },
    tenancy.statusOf,
  )

/** Connects to the database. In a deployment with one tenant, preloads the data of its first requests. */
async function start({ db, feed, now, onError }: Base, modules: Modules): Promise<void> {
  const { masterKeys, updates, workflows, audit, siem, tenancy, fleet, trust } = modules
  await feed.start()
  await masterKeys.begin()
  await ensurePartitions(db, now())
  updates.start()
  void workflows.begin().catch(onError)
  audit.start()
  siem.start()
  // With several tenants, each is loaded at its first request.
  const [only, ...others] = await tenancy.listTenantIds()
  if (only === undefined || others.length > 0) return
  await fleet.all(only)
  await trust.versionOf(only)
}

function shutdownOf(
  { db, feed, onError }: Base,
  m: Modules,
  { http, draining, flushRefusals }: Pick<ReturnType<typeof createPipe>, 'http' | 'draining' | 'flushRefusals'>,
  { pki, metrics }: ReturnType<typeof createListeners>,
) {
  return createShutdown({
    health: m.health,
    draining,
    listeners: [{ server: http.server, close: () => http.close() }, pki, metrics].filter((l) => !!l),
    letGo: [
      m.stream.letGo,
      m.policy.stop,
      m.gateways.stop,
      m.certificates.stop,
      m.federation.deviceGrants.letGo,
      m.workflows.letGo,
      m.audit.letGo,
    ],
    writes: [
      flushRefusals,
      m.tenancy.stop,
      m.notifications.stop,
      m.activity.flush,
      m.trustMarks.flush,
      m.access.stop,
      m.identity.stop,
      m.enrollment.stop,
      m.devices.stop,
      m.federation.stop,
      m.directory.stop,
      m.siem.stop,
      m.workflows.stop,
    ],
    release: [m.audit.stop, feed.stop, m.trust.stop, db.close],
    onError,
  })
}
