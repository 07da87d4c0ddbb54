import { createCertificates } from '../modules/certificates/index.ts'
import { createFleet, createTrustMarks, trustCoverageOfDevices } from '../modules/devices/index.ts'
import { createGateways, reported, trustCoverageOfGateways } from '../modules/gateways/index.ts'
import { createPolicy } from '../modules/policy/index.ts'
import { createKeyProviders, createTrust } from '../modules/trust/index.ts'
import type { Idle } from '../replication/tenant-cache.ts'
import type { Base, CompleteDeps } from './base.ts'
import type { FoundationModules } from './foundation.ts'

/** The modules that decide and sign: keys, the fleet in memory, policy, gateways, certificates. */
export function createNetworkModules(
  base: Base,
  deps: CompleteDeps,
  { audit, tenancy, notifications }: FoundationModules,
) {
  const { config, secrets, log, idleMs, snapshotSize } = deps
  const { entitlements, meter } = tenancy
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
    certificatesOf: (...signer) => certificates.countOfIssuer(...signer),
    revokeIssuedBy: (...signer) => certificates.revokeIssuedBy(...signer),
  })
  const idle: Idle = {
    afterMs: idleMs,
    isAwaited: (tenant) => [policy, gateways, certificates].some((module) => module.isAwaited(tenant)),
  }
  const fleet = createFleet({ ...base, idle, checks: (tenant) => policy.checks(tenant) })
  const shared = { ...base, audit, fleet, trust }
  const policy = createPolicy({
    ...shared,
    idle,
    notify: notifications.notify,
    gatewaysKnow: config.gatewaysKnow,
    gateways: () => gateways,
    sessionHistory: reported,
  })
  const gateways = createGateways({
    ...shared,
    entitlements,
    meter,
    policy,
    notifications,
    snapshotSize,
    serviceSecrets: secrets.gatewayServiceSecrets,
    certificateEnds: (...certificate) => certificates.endsOf(...certificate),
  })
  const certificates = createCertificates({
    ...shared,
    tenants: tenancy.listTenantIds,
    tenantNamed: tenancy.tenantNamed,
    policyOf: policy.policyOf,
    pkiUrl: config.pki?.url,
    oidArc: config.oidArc,
  })
  return { trustMarks, trust, fleet, policy, gateways, certificates }
}
export type NetworkModules = ReturnType<typeof createNetworkModules>
