import { createHash } from 'node:crypto'
import { compareVersions } from '@holdfast/contract/semver'
import type { DeviceArchitecture } from '@holdfast/contract/vocabulary'
import type { liveReleases, packagesOf } from '../releases/live.queries.ts'

export type LivePackage = Awaited<ReturnType<typeof packagesOf>>[number]
export type LiveRelease = Awaited<ReturnType<typeof liveReleases>>[number] & { packages: readonly LivePackage[] }

/** The device that requests an offer: ids in their API form, groups as in the database. */
export type Asker = {
  tenantId: string
  deviceId: string
  groupIds: readonly string[]
  channel: 'canary' | 'stable'
  known: Known
}
/** Values that the device reported of itself. Its version may be any text. */
type Known = { platform: string; version: string | null; arch: DeviceArchitecture | null }
/** The platform, architecture and version to look for. Packages of others are left out. */
export type WantedUpdate = { platform: LivePackage['platform']; arch: LivePackage['arch']; version: string }
export type Offer = {
  /** The newest release that is newer than the installed version and that the device may update to directly. */
  release: LiveRelease | undefined
  packages: readonly LivePackage[]
  mandatory: boolean
  /**
   * The newest mandatory version, and the newest of all that are offered to the device. They may be older than the
   * installed one.
   */
  minimum: string | null
  latest: string | null
}

/** Returns 0–9999, constant for a device and version: raising the percentage of a rollout only adds devices. */
export const bucketOf = ({ tenantId, deviceId }: Pick<Asker, 'tenantId' | 'deviceId'>, version: string): number =>
  createHash('sha256').update(`${tenantId}\x1f${deviceId}\x1f${version}`).digest().readUInt32BE(0) % 10_000

/**
 * True if a release reaches a device. A promoted release keeps reaching canary devices, whatever its rollout on stable
 * is.
 */
export function reaches(release: LiveRelease, asker: Asker): boolean {
  if (asker.channel === 'stable' && release.channel !== 'stable') return false
  if (asker.channel === 'canary' && release.promoted_at !== null) return true
  if (release.rollout_group_ids.some((id) => asker.groupIds.includes(id))) return true
  return bucketOf(asker, release.version) < release.rollout_percent * 100
}

/**
 * Chooses the offer from `releases`, which are sorted from the newest version to the oldest. A version older than the
 * installed one is never offered.
 */
export function offerOf(releases: readonly LiveRelease[], asker: Asker, wanted: WantedUpdate): Offer {
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
