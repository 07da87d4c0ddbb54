import type { Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Listening } from '../health/index.ts'
import type { Offboarding } from '../offboarding/index.ts'
import type { Entitlements } from '../tenancy/index.ts'
import { createDeviceCounts, createFleetVersions, type VerdictsOf } from './counts.ts'
import { deviceHandlers } from './devices.handlers.ts'
import type { CanaryReach } from './filter.queries.ts'
import { deviceJobs } from './jobs.ts'
import { createDeviceLifecycle } from './lifecycle.ts'
import { createPostureHandlers, type PostureDeps } from './posture/index.ts'
import { pruneRevoked } from './revoked.queries.ts'
import { createDeviceHits } from './search-hits.ts'
import type { PolicyOf } from './view.ts'
import { createApprovalAlerts, type WaitingNotices } from './waiting.ts'

export { createDeviceActivity, createTrustMarks } from './activity.ts'
export { addressCapacity, gatewayAddressesOf, overlayAddressesOf, overlayOf } from './address.ts'
export type { DeviceCounts } from './counts.ts'
export { countRevoked, labelDevices, markDevices, type SeenDevice } from './devices.queries.ts'
export { findUserState } from './effective.queries.ts'
export { blockersOfUser } from './effective.ts'
export { createFleet, type Fleet } from './fleet.ts'
export type { EvaluatedVerdict, FleetDevice, Selected } from './fleet-device.ts'
export { type CallingDevice, createHeldReads, type HeldReads } from './held-reads.ts'
export type { ReportedChecks } from './held-reports.ts'
export * as joining from './joining.queries.ts'
export { type Assigned, appliedAmong, deviceNameOf, firstDeviceAt, notApplying } from './known.queries.ts'
export type { Appraise } from './posture/appraisal.ts'
export { holdVerdicts } from './posture/posture.queries.ts'
export * as storedReports from './posture/stored.queries.ts'
export { rememberProofs } from './proofs.queries.ts'
export * as renewal from './renewal.queries.ts'
export { proofExpiry } from './replay.ts'
export { trustCoverageOfDevices } from './trust-coverage.queries.ts'
export { createDeviceVerifier } from './verify.ts'
export { appliedLater, countVersions, type FleetVersions } from './versions.queries.ts'

export function createDevices(
  deps: PostureDeps & {
    pager: Pager
    entitlements: Entitlements
    offboarding: Pick<Offboarding, 'cutDevices'>
    listening: Listening
    notifications: WaitingNotices
    onError: (e: unknown) => void
    shownPolicyOf: (tenant: TenantId, deviceId: string) => PolicyOf | Promise<PolicyOf>
    verdicts: VerdictsOf
    canaryOf: (tenant: TenantId) => Promise<CanaryReach | undefined>
  },
) {
  const waiting = createApprovalAlerts(deps)
  const lifecycle = createDeviceLifecycle({ ...deps, waiting })
  return {
    handlers: { ...deviceHandlers({ ...deps, lifecycle }), ...createPostureHandlers(deps) },
    jobs: deviceJobs({ ...deps, lifecycle, waiting }),
    endDevicesOf: lifecycle.endDevicesOf,
    count: createDeviceCounts(deps),
    countVersions: createFleetVersions(deps),
    prunes: [pruneRevoked],
    searchHits: createDeviceHits(deps),
    waiting,
    stop: waiting.stop,
  }
}
