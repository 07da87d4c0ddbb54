import { readTlsFiles } from '../config/tls-files.ts'
import { ensurePartitions } from '../db/partitions.ts'
import { activeTenantsOnly } from '../http/admission/active-tenants-only.ts'
import { createDescription } from '../http/answer/description.ts'
import { defaultMinimumRate } from '../http/connection/minimum-rate.ts'
import type { Handlers } from '../http/handlers.ts'
import { createInvoker } from '../http/invoke.ts'
import { createAccess } from '../modules/access/index.ts'
import { createAudit } from '../modules/audit/index.ts'
import { createCertificates } from '../modules/certificates/index.ts'
import { createCompliance } from '../modules/compliance/index.ts'
import { createDashboard } from '../modules/dashboard/index.ts'
import {
  createDeviceActivity,
  createDevices,
  createDeviceVerifier,
  createFleet,
  createTrustMarks,
  trustCoverageOfDevices,
} from '../modules/devices/index.ts'
import { createDirectory } from '../modules/directory/index.ts'
import { createEnrollment } from '../modules/enrollment/index.ts'
import { createExpiry } from '../modules/expiry/index.ts'
import { createFederation } from '../modules/federation/index.ts'
import { createGateways, reported, trustCoverageOfGateways } from '../modules/gateways/index.ts'
import { createReadinessHealth } from '../modules/health/index.ts'
import { createIdentity, usualPasswordCost } from '../modules/identity/index.ts'
import { createLocking } from '../modules/locks/index.ts'
import { createNotifications } from '../modules/notifications/index.ts'
import { createOffboarding } from '../modules/offboarding/index.ts'
import { createOperations } from '../modules/operations/index.ts'
import { createPolicy } from '../modules/policy/index.ts'
import { createMasterKeys } from '../modules/secrets/index.ts'
import { createSiem } from '../modules/siem/index.ts'
import { createStream } from '../modules/stream/index.ts'
import { createTenancy } from '../modules/tenancy/index.ts'
import { createKeyProviders, createTrust } from '../modules/trust/index.ts'
import { createUpdates } from '../modules/updates/index.ts'
import { createWorkflows } from '../modules/workflows/index.ts'
import { createOutbound } from '../outbound/outbound.ts'
import { type Idle, idleAfterMs } from '../replication/tenant-cache.ts'
import { createBase } from './base.ts'
import { createConsole } from './console.ts'
import type { AppDeps } from './deps.ts'
import { appJobs } from './jobs.ts'
import { createListeners } from './listeners.ts'
import { createAppMetrics, createMeters } from './metrics.ts'
import { offboardingParts } from './offboarding.ts'
import { createPipe } from './pipe.ts'
import { createShutdown } from './shutdown.ts'

/** The composition root: creates every module once, in the order of their dependencies. */
export function createApp({
  config,
  secrets,
  peppers,
  databaseUrl,
  log,
  now: given,
  outbound = createOutbound(config),
  snapshotSize = { inlineUpTo: 5000, perChunk: 1000 },
  idleMs = idleAfterMs,
  passwordCost = usualPasswordCost,
  slowness = 1,
  pace = defaultMinimumRate,
  consoleBuild,
}: AppDeps) {
  const onError = (e: unknown) => log.error({ err: e }, 'a background task failed')
  const { gatewaysKnow } = config
  const { masterKeys, gatewayServiceSecrets: serviceSecrets } = secrets
  const meters = config.metrics && createMeters()

  const base = createBase({ config, secrets, peppers, databaseUrl, log, given, slowness, onError })
  const { db, changes, feed, signals, now } = base

  const audit = createAudit({
    ...base,
    oidArc: config.oidArc,
    tenants: () => tenancy.listTenantIds(),
    trust: () => trust,
    placed: (tenant) => {
      siem.wake(tenant)
      signals.tell(tenant, 'audit', [])
    },
  })
  const tenancy = createTenancy({
    ...base,
    audit,
    log,
    licenseFiles: config.license,
    notify: (...given) => notifications.notify(...given),
    prepareAdministrator: (...given) => identity.prepareAdministrator(...given),
    provision: (tenant) => trust.provision(tenant),
    removeContents: (tenant) => updates.removeAll(tenant),
    checkClock: () => compliance.purges.checkClock(),
    enforcement: {
      hold: (tx, tenant) => identity.breakGlass.hold(tx, tenant),
      require: async (tx, tenant) => {
        await federation.requireSignIn(tx, tenant)
        await identity.breakGlass.requireOne(tx, tenant)
      },
      begin: (tx, source) => identity.breakGlass.endPasswordSessions(tx, source),
    },
  })
  const { settings, entitlements, meter, statusOf, listTenantIds: tenants } = tenancy
  /** For every module that creates objects limited by a plan. */
  const limited = { ...base, audit, entitlements }
  const access = createAccess({ ...limited, settings, statusOf, tokensOfMakers: () => enrollment.tokensOfMakers })
  const notifications = createNotifications({
    ...base,
    audit,
    outbound,
    smtpUrl: config.smtpUrl,
    tenantName: tenancy.nameOf,
  })
  const { notify } = notifications
  const trustMarks = createTrustMarks(base)
  const trust = createTrust({
    ...base,
    audit,
    onFetched: trustMarks.fetched,
    providers: createKeyProviders({ ...base, token: config.pkcs11, log }),
    coverageOf: async (tx, tenant, version) => ({
      devices: await trustCoverageOfDevices(tx, tenant, version),
      gateways: await trustCoverageOfGateways(tx, tenant, version),
    }),
    certificatesOf: (...given) => certificates.countOfIssuer(...given),
    revokeIssuedBy: (...given) => certificates.revokeIssuedBy(...given),
  })
  const idle: Idle = {
    afterMs: idleMs,
    isAwaited: (tenant) => [policy, gateways, certificates].some((module) => module.isAwaited(tenant)),
  }
  const fleet = createFleet({ ...base, idle, checks: (tenant) => policy.checks(tenant) })
  const policy = createPolicy({
    ...base,
    idle,
    audit,
    fleet,
    trust,
    notify,
    gatewaysKnow,
    gateways: () => gateways,
    sessionHistory: reported,
  })
  const gateways = createGateways({
    ...limited,
    meter,
    serviceSecrets,
    fleet,
    policy,
    trust,
    notifications,
    snapshotSize,
    certificateEnds: (...given) => certificates.endsOf(...given),
  })
  const { policyOf, shownPolicyOf, verdicts, canaryOf, appraise } = policy
  const certificates = createCertificates({
    ...base,
    audit,
    fleet,
    trust,
    policyOf,
    tenants,
    tenantNamed: tenancy.tenantNamed,
    pkiUrl: config.pki?.url,
    oidArc: config.oidArc,
  })
  const offboarding = createOffboarding(
    offboardingParts(() => ({ access, certificates, gateways, identity, federation, enrollment, devices })),
  )
  const identity = createIdentity({
    ...base,
    audit,
    tenancy,
    passwordCost,
    offboarding,
    notify,
    keysOfUser: access.keysOfUser,
    consoleBuild,
    rulesUsingGroup: policy.rulesUsingGroup,
    releaseLockOf: (...given) => locks.releaseOfUser(...given),
    waysIn: (tenantName, caller) => federation.waysIn(tenantName, caller),
    endSessionAt: (tenant, providerId) => federation.endSessionAt(tenant, providerId),
  })
  const federation = createFederation({ ...base, ...access, audit, tenancy, outbound, people: identity.people })
  const directory = createDirectory({ ...base, audit, identity, outbound, notifications, tenancy })
  const activity = createDeviceActivity(base)
  const devices = createDevices({
    ...limited,
    notifications,
    fleet,
    trust,
    offboarding,
    shownPolicyOf,
    verdicts,
    canaryOf,
    appraise,
  })
  const enrollment = createEnrollment({
    ...limited,
    installLines: tenancy.installLines,
    trust,
    settings,
    federation,
    failures: identity.failures,
    deviceWaits: devices.waiting.moved,
  })
  const updates = createUpdates({
    ...base,
    audit,
    fleet,
    policy,
    trust,
    notify,
    tenants,
    packages: config.packages,
    bucketCredential: secrets.bucketCredential,
  })
  const tls = config.tls && readTlsFiles(config.tls)
  const expiry = createExpiry({
    ...base,
    tenants,
    notifications,
    keys: access,
    sources: [trust.expiries, certificates.expiries.ofCrls, gateways.secretExpiries, federation.certificateExpiries],
    spcsByDay: certificates.expiries.ofSpcs,
    deployment: { isHome: tenancy.isHome, license: tenancy.licenseExpiries, tlsCertificate: tls?.cert },
  })
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
    perform: () => perform,
    purgeNow: (...given) => compliance.purges.now(...given),
  })
  const stream = createStream({ ...base, audit, statusOf, idleExpiresAt: identity.idleExpiresAt })
  const health = createReadinessHealth(base)
  const dashboard = createDashboard({ ...base, devices, gateways, policy, expiry, tenancy, audit, tenants })
  const finding = createConsole({
    ...base,
    audit,
    devices,
    identity,
    enrollment,
    access,
    policy,
    gateways,
    consoleBuild,
  })
  // Tokens go after the devices that were enrolled with them.
  const prunes = [
    ...[tenancy, identity, federation, certificates, trust, policy, devices, enrollment, gateways],
    ...[notifications, directory, expiry, updates, siem, locks, workflows, audit, dashboard, finding],
  ].flatMap((module) => module.prunes)
  const compliance = createCompliance({ ...base, audit, log, prunes, notifications, home: tenancy.home })
  const rotation = createMasterKeys({ ...base, masterKeys })
  const reads = {
    ...createDescription().handlers,
    ...health.handlers,
    ...rotation.handlers,
    ...audit.handlers,
    ...compliance.handlers,
    ...tenancy.handlers,
    ...access.handlers,
    ...identity.handlers,
    ...federation.handlers,
    ...notifications.handlers,
    ...trust.handlers,
    ...certificates.handlers,
    ...policy.handlers,
    ...gateways.handlers,
    ...devices.handlers,
    ...enrollment.handlers,
    ...directory.handlers,
    ...expiry.handlers,
    ...dashboard.handlers,
    ...updates.handlers,
    ...siem.handlers,
    ...locks.handlers,
    ...workflows.handlers,
    ...stream.handlers,
    ...finding.handlers,
  }
  const handlers: Handlers = { ...reads, ...createOperations({ reads, now }).handlers }
  const perform = createInvoker(handlers)

  const verifiers = activeTenantsOnly(
    {
      readToken: access.readToken,
      service: gateways.service,
      session: identity.verifySession,
      api_key: access.verifyApiKey,
      device: createDeviceVerifier({ ...base, trust, rates: access.rates, fleet, onSeen: activity.seen }),
      gateway: gateways.verifyGateway,
      ...enrollment.verifiers,
    },
    statusOf,
  )
  const { http, draining, idempotency, sourceOf, flushRefusals } = createPipe({
    ...base,
    config,
    log,
    verifiers,
    handlers,
    tls,
    pace,
    consoleBuild,
    requests: meters?.requests,
    audit,
    tenancy,
    access,
    identity,
    federation,
    enrollment,
    policy,
  })
  const watched = { config, secrets, db, feed, fleet, policy, gateways, audit, siem, tenancy, onError }
  const metrics = meters && createAppMetrics({ ...watched, meters })
  const listeners = createListeners({ config, draining, log, sourceOf, answers: { pki: certificates.pki, metrics } })

  const jobs = appJobs({
    db,
    now,
    purges: compliance.purges,
    tenants,
    forgetOldClaims: idempotency.forgetOld,
    prunes,
    working: [
      ...[tenancy, identity, trust, certificates, policy, gateways, devices, directory, federation, health],
      ...[rotation, expiry, updates, audit, siem, locks, workflows, dashboard],
      ...[{ jobs: access.jobs(tenants) }, { jobs: notifications.jobs(gateways.silentGateways) }],
    ],
  })

  const end = createShutdown({
    health,
    draining,
    listeners: [{ server: http.server, close: () => http.close() }, ...Object.values(listeners).filter((l) => !!l)],
    letGo: [
      ...[stream.letGo, policy.stop, gateways.stop, certificates.stop],
      ...[federation.deviceGrants.letGo, workflows.letGo, audit.letGo],
    ],
    writes: [
      ...[flushRefusals, tenancy.stop, notifications.stop, activity.flush, trustMarks.flush, access.stop],
      ...[identity.stop, enrollment.stop, devices.stop, federation.stop, directory.stop, siem.stop, workflows.stop],
    ],
    release: [audit.stop, feed.stop, trust.stop, db.close],
    onError,
  })

  return {
    http,
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
    /** Connects to the database. In a deployment with one tenant, preloads the data of its first requests. */
    start: async (): Promise<void> => {
      await feed.start()
      await rotation.begin()
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
    },
    ...end,
  }
}
export type App = ReturnType<typeof createApp>
