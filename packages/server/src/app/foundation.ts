import { createAccess } from '../modules/access/index.ts'
import { createAudit } from '../modules/audit/index.ts'
import type { createCompliance } from '../modules/compliance/index.ts'
import type { createEnrollment } from '../modules/enrollment/index.ts'
import type { Federation } from '../modules/federation/index.ts'
import type { Identity } from '../modules/identity/index.ts'
import type { createLocking } from '../modules/locks/index.ts'
import { createNotifications } from '../modules/notifications/index.ts'
import type { createSiem } from '../modules/siem/index.ts'
import { createTenancy } from '../modules/tenancy/index.ts'
import type { Trust } from '../modules/trust/index.ts'
import type { createUpdates } from '../modules/updates/index.ts'
import type { Base, CompleteDeps } from './base.ts'

/** Modules that a module made before them calls. They exist when the first request or job runs. */
export type LaterModules = {
  trust: Trust
  identity: Identity
  federation: Federation
  enrollment: ReturnType<typeof createEnrollment>
  updates: ReturnType<typeof createUpdates>
  siem: ReturnType<typeof createSiem>
  locks: ReturnType<typeof createLocking>
  compliance: ReturnType<typeof createCompliance>
}

/** The modules that nearly every other one uses: audit log, tenants, access, notifications. */
export function createFoundation(base: Base, deps: CompleteDeps, laterModules: () => LaterModules) {
  const { config, log, outbound } = deps
  const audit = createAudit({
    ...base,
    oidArc: config.oidArc,
    tenants: () => tenancy.listTenantIds(),
    trust: () => laterModules().trust,
    placed: (tenant) => {
      laterModules().siem.wake(tenant)
      base.signals.tell(tenant, 'audit', [])
    },
  })
  const tenancy = createTenancy({
    ...base,
    audit,
    log,
    licenseFiles: config.license,
    notify: (...event) => notifications.notify(...event),
    prepareAdministrator: (...administrator) => laterModules().identity.prepareAdministrator(...administrator),
    provision: (tenant) => laterModules().trust.provision(tenant),
    removeContents: (tenant) => laterModules().updates.removeAll(tenant),
    checkClock: () => laterModules().compliance.purges.checkClock(),
    enforcement: ssoEnforcement(laterModules),
  })
  const { settings, entitlements, statusOf } = tenancy
  const access = createAccess({
    ...base,
    audit,
    entitlements,
    settings,
    statusOf,
    tokensOfMakers: () => laterModules().enrollment.tokensOfMakers,
  })
  const notifications = createNotifications({
    ...base,
    audit,
    outbound,
    smtpUrl: config.smtpUrl,
    tenantName: tenancy.nameOf,
  })
  return { audit, tenancy, access, notifications }
}
export type FoundationModules = ReturnType<typeof createFoundation>

/** Steps of a tenant's setting that identity providers are the only way to sign in. */
const ssoEnforcement = (laterModules: () => LaterModules): Parameters<typeof createTenancy>[0]['enforcement'] => ({
  hold: (tx, tenant) => laterModules().identity.breakGlass.hold(tx, tenant),
  require: async (tx, tenant) => {
    await laterModules().federation.requireSignIn(tx, tenant)
    await laterModules().identity.breakGlass.requireOne(tx, tenant)
  },
  begin: (tx, source) => laterModules().identity.breakGlass.endPasswordSessions(tx, source),
})
