import { createHash } from 'node:crypto'
import { compareVersions } from '@holdfast/contract/semver'
import type { DeviceArchitecture } from '@holdfast/contract/vocabulary'
import type { liveReleases, packagesOf } from './live.queries.ts'

export type LivePackage = Awaited<ReturnType<typeof packagesOf>>[number]
export type LiveRelease = Awaited<ReturnType<typeof liveReleases>>[number] & { packages: readonly LivePackage[] }

/** Who asks: ids as on the wire, groups as in the database. */
export type Asker = {
  tenantId: string
  deviceId: string
  groupIds: readonly string[]
  channel: 'canary' | 'stable'
  known: Known
}
/** The values that the device gave of itself. Its version is any text. */
type Known = { platform: string; version: string | null; arch: DeviceArchitecture | null }
/** For what: a package of another architecture or platform is none. */
export type Wanted = { platform: LivePackage['platform']; arch: LivePackage['arch']; version: string }
export type Offer = {
  /** The newest release that is newer than what the device has and that it may go to from there. */
  release: LiveRelease | undefined
  packages: readonly LivePackage[]
  mandatory: boolean
  /** The newest mandatory and the newest of all that is offered to it, whether or not it is newer. */
  minimum: string | null
  latest: string | null
}

/** 0–9999, stable for a device and version: raising a rollout's percentage only adds devices. */
export const bucketOf = ({ tenantId, deviceId }: Pick<Asker, 'tenantId' | 'deviceId'>, version: string): number =>
  createHash('sha256').update(`${tenantId}\x1f${deviceId}\x1f${version}`).digest().readUInt32BE(0) % 10_000

/** Whether a release reaches a device. What is promoted stays with who had it, whatever the rollout to stable is. */
export function reaches(release: LiveRelease, asker: Asker): boolean {
  if (asker.channel === 'stable' && release.channel !== 'stable') return false
  if (asker.channel === 'canary' && release.promoted_at !== null) return true
  if (release.rollout_group_ids.some((id) => asker.groupIds.includes(id))) return true
  return bucketOf(asker, release.version) < release.rollout_percent * 100
}

/** `releases` from the newest version to the oldest. What is older than what the device has is never offered. */
export function offerOf(releases: readonly LiveRelease[], asker: Asker, wanted: Wanted): Offer {
  const fits = (p: LivePackage) =>
    p.platform === wanted.platform && (p.arch === wanted.arch || p.arch === 'universal' || wanted.arch === 'universal')
  const offered = releases.filter((r) => r.status === 'published' && r.packages.some(fits) && reaches(r, asker))
  const isNewer = (r: LiveRelease) => compareVersions(r.version, wanted.version) > 0
  const mayBegin = ({ min_from_version: from }: LiveRelease) =>
    from === null || compareVersions(wanted.version, from) >= 0
  const release = offered.find((r) => isNewer(r) && mayBegin(r))
  const isPassed = (r: LiveRelease) => isNewer(r) && release && compareVersions(r.version, release.version) <= 0
  return {
    release,
    packages: release?.packages.filter(fits) ?? [],
    mandatory: offered.some((r) => r.mandatory && isPassed(r)),
    minimum: offered.find((r) => r.mandatory)?.version ?? null,
    latest: offered[0]?.version ?? null,
  }
}
