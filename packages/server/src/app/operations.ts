import { readTlsFiles } from '../config/tls-files.ts'
import type { Prune } from '../db/retention.ts'
import type { createInvoker } from '../http/invoke.ts'
import { createCompliance } from '../modules/compliance/index.ts'
import { createDashboard } from '../modules/dashboard/index.ts'
import { createExpiry } from '../modules/expiry/index.ts'
import { createReadinessHealth } from '../modules/health/index.ts'
import { createLocking } from '../modules/locks/index.ts'
import { createSearching } from '../modules/search/index.ts'
import { createMasterKeys } from '../modules/secrets/index.ts'
import { createSiem } from '../modules/siem/index.ts'
import { createStream } from '../modules/stream/index.ts'
import { createUpdates } from '../modules/updates/index.ts'
import { createSavedViews } from '../modules/views/index.ts'
import { createWorkflows } from '../modules/workflows/index.ts'
import type { Base, CompleteDeps } from './base.ts'
import type { FoundationModules } from './foundation.ts'
import type { NetworkModules } from './network.ts'
import type { PeopleModules } from './people.ts'

type EarlierModules = FoundationModules & NetworkModules & PeopleModules

type Invoker = ReturnType<typeof createInvoker>

/** The modules for operating a deployment: updates, expiries, SIEM, locks, workflows, views, retention, keys. */
export function createOperationModules(
  base: Base,
  deps: CompleteDeps,
  modules: EarlierModules,
  perform: () => Invoker,
) {
  const { config, secrets, outbound } = deps
  const { audit, tenancy, access, notifications, gateways, identity } = modules
  const tenants = tenancy.listTenantIds
  const tls = config.tls && readTlsFiles(config.tls)
  const updates = createUpdates({
    ...base,
    ...modules,
    notify: notifications.notify,
    tenants,
    packages: config.packages,
    bucketCredential: secrets.bucketCredential,
  })
  const expiry = createExpiries(base, modules, tls)
  const siem = createSiem({ ...base, audit, outbound, notifications, oidArc: config.oidArc })
  const locks = createLocking({ ...base, audit, gateways, identity })
  const workflows = createWorkflows({
    ...base,
    audit,
    standingOf: access.standingOf,
    requireStepUp: identity.requireStepUp,
    confirmations: gateways.confirmations,
    notifications,
    requireStoppable: identity.requireStoppable,
    perform,
    purgeNow: (...purge) => compliance.purges.now(...purge),
  })
  const stream = createStream({ ...base, audit, statusOf: tenancy.statusOf, idleExpiresAt: identity.idleExpiresAt })
  const health = createReadinessHealth(base)
  const dashboard = createDashboard({ ...base, ...modules, expiry, tenants })
  const search = createSearching({ ...base, ...modules, consoleBuild: deps.consoleBuild })
  const views = createSavedViews({ ...base, ...modules })
  const prunes = prunesOf({ ...modules, expiry, updates, siem, locks, workflows, dashboard, views })
  const compliance = createCompliance({ ...base, audit, log: deps.log, prunes, notifications, home: tenancy.home })
  const masterKeys = createMasterKeys({ ...base, masterKeys: secrets.masterKeys })
  return {
    updates,
    expiry,
    siem,
    locks,
    workflows,
    stream,
    health,
    dashboard,
    search,
    views,
    compliance,
    masterKeys,
    prunes,
    tls,
  }
}
export type OperationModules = ReturnType<typeof createOperationModules>

const createExpiries = (
  base: Base,
  { tenancy, notifications, access, trust, certificates, gateways, federation }: EarlierModules,
  tls: { cert: Buffer } | undefined,
) =>
  createExpiry({
    ...base,
    tenants: tenancy.listTenantIds,
    notifications,
    keys: access,
    sources: [trust.expiries, certificates.expiries.ofCrls, gateways.secretExpiries, federation.certificateExpiries],
    spcsByDay: certificates.expiries.ofSpcs,
    deployment: { isHome: tenancy.isHome, license: tenancy.licenseExpiries, tlsCertificate: tls?.cert },
  })

/** Deletes of old rows, in the order in which they run: tokens go after the devices that were enrolled with them. */
const prunesOf = (
  m: EarlierModules &
    Record<'expiry' | 'updates' | 'siem' | 'locks' | 'workflows' | 'dashboard' | 'views', { prunes: readonly Prune[] }>,
): Prune[] => [
  ...m.tenancy.prunes,
  ...m.identity.prunes,
  ...m.federation.prunes,
  ...m.certificates.prunes,
  ...m.trust.prunes,
  ...m.policy.prunes,
  ...m.devices.prunes,
  ...m.enrollment.prunes,
  ...m.gateways.prunes,
  ...m.notifications.prunes,
  ...m.directory.prunes,
  ...m.expiry.prunes,
  ...m.updates.prunes,
  ...m.siem.prunes,
  ...m.locks.prunes,
  ...m.workflows.prunes,
  ...m.audit.prunes,
  ...m.dashboard.prunes,
  ...m.views.prunes,
]
