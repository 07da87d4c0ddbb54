import { compareVersions, versionPattern } from '@holdfast/contract/semver'
import { reject } from '../errors.ts'
import type { Judge } from './policy-verifier.ts'
import { countOf, isObject, listOf, readSigned, textOf, timeOf } from './signed.ts'

/** Platform and version in a device's request. The control plane fills in omitted values. */
export type UpdateQuestion = {
  platform?: 'linux' | 'macos' | 'windows' | 'ios' | 'android' | 'other'
  arch?: 'x64' | 'arm64' | 'x86' | 'arm' | 'universal'
  version?: string
  channel?: 'canary' | 'stable'
}

/** An offered package, as signed by the control plane. */
export type OfferedUpdate = {
  version: string
  channel: string
  filename: string
  /** Identifier for the download. */
  target: string
  /** Its path in the TUF repository, for an additional verification there. */
  targetPath: string
  size: number
  /** Hexadecimal. */
  sha256: string
  mandatory: boolean
  severity: string
  releasedAt: Date
  notesUrl: string | null
}
export type UpdateCheck = {
  /** The values that the control plane used: those of the request, or those that it has of the device. */
  platform: string
  arch: string
  current: string
  /** Packages of the newest offered release; empty if the device has it. */
  updates: OfferedUpdate[]
  minimum: string | null
  latest: string | null
  expiresAt: Date
}

/**
 * Verifies the signature of a manifest; unsigned parts are not trusted. It must be for this tenant and for the
 * requested platform, architecture and version, in force, and offer only newer versions. Throws `VerificationError`.
 */
export function verifyManifest(signature: string, asked: UpdateQuestion, { trust, tenantId, now }: Judge): UpdateCheck {
  const said = readSigned(signature, { typ: 'update-manifest+jws', key: trust.keysFor('update', now) })
  if (said.schema !== 'holdfast.update-manifest/1') reject('malformed', 'the manifest has an unknown schema version')
  if (said.tenant_id !== tenantId) reject('wrong_tenant', 'the manifest belongs to another tenant')
  const { client_version: client } = said
  if (!isObject(client)) reject('malformed', 'client_version is not an object')
  const platform = textOf(said.platform, 'platform')
  const arch = textOf(said.arch, 'arch')
  const current = versionOrNull(client.current) ?? reject('malformed', 'the manifest has no client version')
  const isAnother = (given: string | undefined, answered: string) => given !== undefined && given !== answered
  if (isAnother(asked.platform, platform) || isAnother(asked.arch, arch) || isAnother(asked.version, current))
    reject('wrong_digest', 'the manifest belongs to another request')
  const expiresAt = new Date(countOf(said.exp, 'exp') * 1000)
  if (now >= expiresAt) reject('expired', 'the manifest has expired')
  const updates = listOf(said.updates, 'updates').map(readUpdate)
  for (const { version } of updates)
    if (compareVersions(version, current) <= 0) reject('rollback', `${version} is not newer than ${current}`)
  const [minimum, latest] = [versionOrNull(client.minimum), versionOrNull(client.latest)]
  return { platform, arch, current, updates, minimum, latest, expiresAt }
}

function readUpdate(value: unknown): OfferedUpdate {
  if (!isObject(value)) reject('malformed', 'an update is not an object')
  const sha256 = textOf(value.sha256, 'sha256')
  if (!/^[0-9a-f]{64}$/.test(sha256)) reject('malformed', 'sha256 is not a SHA-256')
  return {
    version: versionOrNull(value.version) ?? reject('malformed', 'an update has no version'),
    channel: textOf(value.channel, 'channel'),
    filename: textOf(value.filename, 'filename'),
    target: textOf(value.target, 'target'),
    targetPath: textOf(value.target_path, 'target_path'),
    size: countOf(value.size, 'size'),
    sha256,
    mandatory: value.mandatory === true,
    severity: textOf(value.severity, 'severity'),
    releasedAt: timeOf(value.released_at, 'released_at'),
    notesUrl: value.notes_url === null ? null : textOf(value.notes_url, 'notes_url'),
  }
}

const isVersion = new RegExp(versionPattern)
function versionOrNull(value: unknown): string | null {
  if (value === null) return null
  const text = textOf(value, 'version')
  return isVersion.test(text) ? text : reject('malformed', 'a version is not valid')
}
