import { createDeviceActivity, createDevices } from '../modules/devices/index.ts'
import { createDirectory } from '../modules/directory/index.ts'
import { createEnrollment } from '../modules/enrollment/index.ts'
import { createFederation } from '../modules/federation/index.ts'
import { createIdentity } from '../modules/identity/index.ts'
import { createOffboarding, type OffboardingParts } from '../modules/offboarding/index.ts'
import type { Base, CompleteDeps } from './base.ts'
import type { FoundationModules, LaterModules } from './foundation.ts'
import type { NetworkModules } from './network.ts'

/** The modules of people and their devices: how they come, sign in, enroll, and are stopped for good. */
export function createPeopleModules(
  base: Base,
  { passwordCost, consoleBuild, docsBuild, outbound }: CompleteDeps,
  {
    audit,
    tenancy,
    access,
    notifications,
    trust,
    fleet,
    policy,
    gateways,
    certificates,
  }: FoundationModules & NetworkModules,
  laterModules: () => LaterModules,
) {
  const { entitlements, settings } = tenancy
  /** The parts that end when a person or a device is stopped for good. Each module ends its own part. */
  const parts = (): OffboardingParts => ({
    ...identity.endAccess,
    linked_accounts: federation.endLinksOf,
    api_keys: access.endKeysOf,
    keys_made: access.keysOfUser.endIn,
    enrollment_tokens: enrollment.endTokensOf,
    devices: devices.endDevicesOf,
    certificates: certificates.revokeOf,
    vpn_sessions: gateways.endVpnSessions,
  })
  const shared = { ...base, audit, tenancy }
  const offboarding = createOffboarding(parts)
  const identity = createIdentity({
    ...shared,
    passwordCost,
    consoleBuild,
    docsBuild,
    offboarding,
    notify: notifications.notify,
    keysOfUser: access.keysOfUser,
    rulesUsingGroup: policy.rulesUsingGroup,
    releaseLockOf: (...user) => laterModules().locks.releaseOfUser(...user),
    waysIn: (tenantName, caller) => federation.waysIn(tenantName, caller),
    endSessionAt: (tenant, providerId) => federation.endSessionAt(tenant, providerId),
  })
  const federation = createFederation({ ...shared, ...access, outbound, people: identity.people })
  const directory = createDirectory({ ...shared, identity, outbound, notifications })
  const activity = createDeviceActivity(base)
  const limited = { ...base, audit, entitlements, trust }
  const { shownPolicyOf, verdicts, canaryOf, appraise } = policy
  const devices = createDevices({
    ...limited,
    notifications,
    fleet,
    offboarding,
    shownPolicyOf,
    verdicts,
    canaryOf,
    appraise,
  })
  const enrollment = createEnrollment({
    ...limited,
    settings,
    federation,
    installLines: tenancy.installLines,
    failures: identity.failures,
    deviceWaits: devices.waiting.moved,
  })
  return { identity, federation, directory, activity, devices, enrollment }
}
export type PeopleModules = ReturnType<typeof createPeopleModules>
