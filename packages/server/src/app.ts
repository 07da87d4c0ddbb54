import { readFileSync } from 'node:fs'
import type { Operation } from '@holdfast/contract'
import type { AppDeps } from './app-deps.ts'
import { background, connectDatabase } from './db/database.ts'
import { createPager } from './db/page.ts'
import { dropPartitions, ensurePartitions } from './db/partitions.ts'
import { createRetention } from './db/retention.ts'
import { createAdmit } from './http/admit.ts'
import { createDescription } from './http/description.ts'
import { createDraining } from './http/draining.ts'
import { createEnding } from './http/ending.ts'
import type { Handlers } from './http/handlers.ts'
import { createIdempotency } from './http/idempotency.ts'
import { createLargeBodies } from './http/large-bodies.ts'
import { createNeverIssued } from './http/never-issued.ts'
import { ofOpenTenants } from './http/of-open-tenants.ts'
import { registerPages } from './http/pages.ts'
import { createPkiListener } from './http/pki.ts'
import { createRefuse } from './http/refuse.ts'
import { createHttp } from './http/serve.ts'
import { createWarmReads } from './http/warm-reads.ts'
import type { Job } from './jobs/runner.ts'
import type { Actor } from './kernel/actor.ts'
import type { AppError } from './kernel/app-error.ts'
import { createGate } from './kernel/gate.ts'
import { createChanges, pruneChanges } from './memory/changes.ts'
import { createClock } from './memory/clock.ts'
import { createFeed } from './memory/feed.ts'
import { type Idle, idleAfterMs } from './memory/held.ts'
import { createAccess } from './modules/access/index.ts'
import { createAudit } from './modules/audit/index.ts'
import { createCertificates } from './modules/certificates/index.ts'
import {
  createActivity,
  createDevices,
  createDeviceVerifier,
  createFleet,
  createTrustMarks,
  trustCoverageOfDevices,
} from './modules/devices/index.ts'
import { createDirectory } from './modules/directory/index.ts'
import { createEnrollment } from './modules/enrollment/index.ts'
import { createFederation } from './modules/federation/index.ts'
import { createGateways, trustCoverageOfGateways } from './modules/gateways/index.ts'
import { createHealth } from './modules/health/index.ts'
import { createIdentity, usualPasswordCost } from './modules/identity/index.ts'
import { createNotifications } from './modules/notifications/index.ts'
import { createPolicy } from './modules/policy/index.ts'
import { createTenancy } from './modules/tenancy/index.ts'
import { createTrust, localKeys } from './modules/trust/index.ts'
import { createOutbound } from './outbound/outbound.ts'

/** The composition root: every module is made once, by hand, in the order in which they may use each other. */
export function createApp({
  config,
  secrets,
  databaseUrl,
  log,
  now: given,
  outbound = createOutbound(config),
  snapshotSize = { inlineUpTo: 5000, perChunk: 1000 },
  idleMs = idleAfterMs,
  passwordCost = usualPasswordCost,
  slowness = 1,
}: AppDeps) {
  const onError = (e: unknown) => log.error({ err: e }, 'background work failed')
  const { publicUrl } = config
  const { revoked_devices: keptRevokedDays, ...keptMonths } = config.keptDays
  const { pepper, kek } = secrets

  const db = connectDatabase(databaseUrl, { max: config.databaseConnections, onError, slowness })
  const clock = createClock()
  const now = given ?? clock.now
  const changes = createChanges(db, now)
  const feed = createFeed({ url: databaseUrl, changes, clock, log })
  const pager = createPager(secrets.cursorKey)
  const base = { db, changes, feed, pager, now, pepper, kek, publicUrl, onError }

  const audit = createAudit(base)
  const tenancy = createTenancy({
    ...base,
    audit,
    log,
    licenseFiles: config.license,
    keptUsageDays: config.keptDays.metering_reports,
    notify: (...given) => notifications.notify(...given),
    prepareAdministrator: (...given) => identity.prepareAdministrator(...given),
    provision: (tenant) => trust.provision(tenant),
    enforcement: {
      hold: (tx, tenant) => identity.breakGlass.hold(tx, tenant),
      require: async (tx, tenant) => {
        await federation.requireSignIn(tx, tenant)
        await identity.breakGlass.requireOne(tx, tenant)
      },
      begin: (tx, source) => identity.breakGlass.endPasswordSessions(tx, source),
    },
  })
  const { settings, entitlements, meter } = tenancy
  /** For whatever adds what a plan limits. */
  const limited = { ...base, audit, entitlements }
  const access = createAccess({ ...limited, settings, statusOf: tenancy.statusOf })
  const notifications = createNotifications({
    ...base,
    audit,
    outbound,
    smtpUrl: config.smtpUrl,
    tenantName: tenancy.nameOf,
  })
  const trustMarks = createTrustMarks(base)
  const trust = createTrust({
    ...base,
    audit,
    onFetched: trustMarks.fetched,
    providers: [localKeys(kek)],
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
  const fleet = createFleet({ ...base, idle, factNames: (tenant) => policy.factNames(tenant) })
  const policy = createPolicy({ ...base, idle, audit, fleet, trust, gatewaysKnow: config.gatewaysKnow })
  const { gatewayServiceSecret: serviceSecret } = secrets
  const gateways = createGateways({ ...limited, meter, serviceSecret, fleet, policy, trust, snapshotSize })
  const { policyOf } = policy
  const tenants = tenancy.listTenantIds
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
  /** In the transaction that stops devices or users: what lets them in elsewhere ends with it. */
  const endSessionsOf: typeof gateways.endSessionsOf = async (tx, tenant, which) => {
    await certificates.revokeOf(tx, tenant, which)
    return gateways.endSessionsOf(tx, tenant, which)
  }
  const { notify } = notifications
  const identity = createIdentity({
    ...base,
    audit,
    tenancy,
    passwordCost,
    rulesUsingGroup: policy.rulesUsingGroup,
    endSessionsOf,
    notify,
    waysIn: (tenantName, caller) => federation.waysIn(tenantName, caller),
    endSessionAt: (tenant, providerId) => federation.endSessionAt(tenant, providerId),
  })
  const { readToken } = access
  const federation = createFederation({ ...base, audit, tenancy, outbound, readToken, people: identity.people })
  const directory = createDirectory({ ...base, audit, identity, outbound, notifications, tenancy })
  const activity = createActivity(base)
  const devices = createDevices({
    ...limited,
    fleet,
    endSessionsOf,
    appraise: policy.appraise,
    policyOf,
    keptRevokedDays,
  })
  const enrollment = createEnrollment({ ...limited, trust, settings, federation, failures: identity.failures })
  const health = createHealth(base)
  const handlers: Handlers = {
    ...createDescription().handlers,
    ...health.handlers,
    ...audit.handlers,
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
  }

  const refuse = createRefuse({
    audit,
    log,
    onError,
    failuresPerMinute: config.authFailuresPerMinute,
    tenantOfStrangers: () => tenancy.tenantByName('default'),
  })
  const { trustedProxies, maxConnections } = config
  const verifiers = ofOpenTenants(
    {
      readToken,
      service: gateways.service,
      session: identity.verifySession,
      api_key: access.verifyApiKey,
      device: createDeviceVerifier({ ...base, trust, rates: access.rates, fleet, onSeen: activity.seen }),
      gateway: gateways.verifyGateway,
      ...enrollment.verifiers,
    },
    tenancy.statusOf,
  )
  const admit = createAdmit({
    verifiers,
    audit,
    publicUrl,
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
    maxConnections,
    costly: createGate({ perKey: 3, total: 8, waiting: 64 }),
    takeLargeBody: createLargeBodies(),
    handlers,
    inFront,
    admit,
    draining,
    idempotency,
    requireStepUp: identity.requireStepUp,
    refusedLate: refuse.late,
    recordRefusal,
    log,
    ...(config.tls && { https: { cert: readFileSync(config.tls.certFile), key: readFileSync(config.tls.keyFile) } }),
  })
  const pki =
    config.pki && createPkiListener({ answer: certificates.pki, draining, trustedProxies, maxConnections, log })
  const { browser } = identity
  const pages = { ...browser.pages, ...federation.pages }
  const forms = { ...browser.forms, ...federation.forms }
  registerPages(http, { ...browser, admit, trustedProxies, publicUrl, log, recordRefusal, pages, forms })

  const expiries = [access.keyExpiries, trust.certificateExpiries, tenancy.licenseExpiries]
  // Tokens go after the devices that were enrolled with them.
  const prunes = [
    tenancy,
    identity,
    federation,
    certificates,
    trust,
    policy,
    devices,
    enrollment,
    gateways,
    notifications,
    directory,
  ].flatMap((module) => module.prunes)
  const jobs: Job[] = [
    { name: 'ensure_partitions', cron: '0 3 * * *', run: () => ensurePartitions(db, now()) },
    { name: 'drop_old_months', cron: '10 3 * * *', run: () => dropPartitions(db, keptMonths) },
    { name: 'forget_what_is_over', cron: '30 * * * *', run: createRetention({ db, tenants, prunes }) },
    { name: 'forget_changes', cron: '15 * * * *', run: () => db.acrossTenants(pruneChanges, background) },
    { name: 'forget_idempotency_keys', cron: '20 * * * *', run: idempotency.forgetOld },
    ...tenancy.jobs,
    ...access.jobs(tenants),
    ...identity.jobs,
    ...trust.jobs,
    ...certificates.jobs,
    ...policy.jobs,
    ...gateways.jobs,
    ...devices.jobs,
    ...directory.jobs,
    ...federation.jobs,
    ...notifications.jobs({ gatewaysDown: gateways.gatewaysDown, tenants, expiries }),
    ...health.jobs,
  ]

  const end = createEnding({
    health,
    draining,
    listeners: [{ server: http.server, close: () => http.close() }, ...(pki ? [pki] : [])],
    letGo: [policy.stop, gateways.stop, certificates.stop, federation.deviceGrants.letGo],
    writes: [
      ...[refuse.flush, notifications.stop, activity.flush, trustMarks.flush, access.stop],
      ...[identity.stop, enrollment.stop, federation.stop, directory.stop],
    ],
    release: [feed.stop, db.close],
    onError,
  })

  return {
    http,
    /** Undefined where the operator wants none. */
    pki,
    jobs,
    db,
    changes,
    tenancy,
    access,
    identity,
    trust,
    fleet,
    policy,
    gateways,
    devices,
    notifications,
    feed,
    /** Someone can sign in from now on. */
    markReady: health.open,
    /** Proves the database; with one tenant reads what its first requests would otherwise wait for. */
    start: async (): Promise<void> => {
      await feed.start()
      await ensurePartitions(db, now())
      // Of several tenants each is read when it is first asked for.
      const [only, ...others] = await tenancy.listTenantIds()
      if (only === undefined || others.length > 0) return
      await fleet.all(only)
      await trust.versionOf(only)
    },
    ...end,
  }
}
export type App = ReturnType<typeof createApp>
