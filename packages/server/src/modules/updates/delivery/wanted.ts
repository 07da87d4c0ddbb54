import { versionPattern } from '@holdfast/contract/semver'
import type { packagePlatforms } from '@holdfast/contract/vocabulary'
import { failField } from '../../../kernel/app-error.ts'
import type { Asker, LiveRelease, WantedUpdate } from './offer.ts'

/** Values of a request. Missing ones come from those that the device reported. */
export type UpdateQuestion = { [K in keyof WantedUpdate]?: WantedUpdate[K] }

/**
 * Returns platform, architecture and version for an answer. A parameter of the request takes precedence. An unknown
 * value is refused by its name.
 */
export function wantedOf(asked: UpdateQuestion, known: Asker['known'], releases: readonly LiveRelease[]): WantedUpdate {
  // Devices and packages have the same platforms.
  const platform = asked.platform ?? (known.platform as (typeof packagePlatforms)[number])
  return {
    platform,
    arch: asked.arch ?? known.arch ?? onlyArchOf(releases, platform),
    version: asked.version ?? versionOf(known.version),
  }
}

const isVersion = new RegExp(versionPattern)
function versionOf(known: string | null): string {
  if (known === null) return failField('version', 'is required: the device has never reported its client_version')
  if (isVersion.test(known)) return known
  return failField(
    'version',
    `is required: the client_version of the device, ${JSON.stringify(known)}, is not a version like 1.4.0`,
  )
}

/** If the platform has no package, nothing is offered whatever the architecture is. */
function onlyArchOf(releases: readonly LiveRelease[], platform: WantedUpdate['platform']): WantedUpdate['arch'] {
  const packages = releases.flatMap((r) => r.packages.filter((p) => p.platform === platform))
  const archs = [...new Set(packages.map((p) => p.arch))].filter((arch) => arch !== 'universal').sort()
  const [only = 'universal', other] = archs
  if (other === undefined) return only
  return failField(
    'arch',
    `is required: the device has not reported its arch, and releases have packages for ${archs.join(', ')}`,
  )
}
