import type { Output } from '@holdfast/contract'
import { versionPattern } from '@holdfast/contract/semver'
import type { updateManifest } from '@holdfast/contract/update-delivery'
import type { packagePlatforms } from '@holdfast/contract/vocabulary'
import { type Signer, sha256Hex, signJws } from '@holdfast/crypto'
import type { TenantId } from '../../../kernel/actor.ts'
import { failField } from '../../../kernel/app-error.ts'
import { BoundedMap } from '../../../kernel/bounded-map.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { mapMaybePromise } from '../../../kernel/maybe-promise.ts'
import { Representation } from '../../../kernel/results.ts'
import { hour, second } from '../../../kernel/time.ts'
import type { UpdatesDeps } from '../deps.ts'
import { pathOfTarget } from '../packages/package.ts'
import type { Repository, RepositoryOf } from '../tuf/repository.ts'
import type { Askers } from './asker.ts'
import type { LiveOf } from './live.ts'
import { type Asker, type LiveRelease, type Offer, offerOf, type WantedUpdate } from './offer.ts'

type Manifest = Output<typeof updateManifest>
type Content = Omit<Manifest, 'generated_at' | 'expires_at' | 'signature'>
type Held = Representation<Manifest>

const metadataBase = '/v1/update/tuf/metadata'
/**
 * A manifest is valid until the end of the next half day, so for 12 to 24 hours. The end is the same on every replica.
 */
const halfDay = 12 * hour
/** Devices with the same offer share a manifest, so a tenant has only a few dozen different ones. */
const most = 5000

/** Update manifests for devices. One is signed once for all devices with the same content. */
export function createManifests({
  trust,
  now,
  live,
  repository,
  askers,
}: Pick<UpdatesDeps, 'trust' | 'now'> & { live: LiveOf; repository: RepositoryOf; askers: Askers }) {
  const made = new BoundedMap<string, Promise<Held>>(most)

  type Wish = { tenant: TenantId; wanted: WantedUpdate; content: Content; tag: string; exp: number }
  async function make(signer: Signer, { tenant, wanted, content, tag, exp }: Wish): Promise<Held> {
    const generatedAt = now()
    const said = {
      ...content,
      generated_at: generatedAt.toISOString(),
      expires_at: new Date(exp).toISOString(),
    }
    const signature = await signJws(signer, 'update-manifest+jws', {
      schema: 'holdfast.update-manifest/1',
      tenant_id: encodeId('tenant', tenant),
      platform: wanted.platform,
      arch: wanted.arch,
      ...said,
      iat: Math.floor(generatedAt.getTime() / second),
      exp: Math.floor(exp / second),
    })
    return new Representation<Manifest>(tag, Buffer.from(JSON.stringify({ ...said, signature })))
  }

  async function manifestOf(tenant: TenantId, wanted: WantedUpdate, content: Content): Promise<Held> {
    // The cache key includes the signing key, so a change of the key makes new manifests.
    const signer = await trust.signerFor(tenant, 'update')
    const exp = (Math.floor(now().getTime() / halfDay) + 2) * halfDay
    const { platform, arch } = wanted
    const digest = sha256Hex(`${tenant} ${signer.kid} ${platform} ${arch} ${JSON.stringify(content)}`)
    const tag = `${digest}.${(exp / halfDay).toString(36)}`
    const before = made.get(tag)
    if (before) return before
    const making = make(signer, { tenant, wanted, content, tag, exp }).catch((e: unknown) => {
      made.delete(tag)
      throw e
    })
    made.set(tag, making)
    return making
  }

  return (
    tenant: TenantId,
    deviceId: string,
    { channel, ...question }: UpdateQuestion & { channel?: Asker['channel'] },
  ) =>
    mapMaybePromise(askers(tenant, deviceId, channel), (asker) =>
      mapMaybePromise(live(tenant), ({ releases }) =>
        mapMaybePromise(repository(tenant), (tuf) => {
          const wanted = wantedOf(question, asker.known, releases)
          return manifestOf(tenant, wanted, contentOf(offerOf(releases, asker, wanted), asker, wanted, tuf))
        }),
      ),
    )
}
export type Manifests = ReturnType<typeof createManifests>

function contentOf(offer: Offer, { channel }: Asker, { version: current }: WantedUpdate, tuf: Repository): Content {
  const { release, packages, mandatory, minimum, latest } = offer
  return {
    client_version: { current, minimum, latest },
    channel,
    updates: packages.flatMap((p) =>
      release
        ? {
            version: release.version,
            channel: release.channel,
            platform: p.platform,
            arch: p.arch,
            filename: p.filename,
            target: encodeId('package', p.package_id),
            target_path: pathOfTarget({ ...p, version: release.version }),
            size: p.size,
            sha256: p.sha256,
            mandatory,
            severity: release.severity,
            released_at: release.published_at?.toISOString() ?? '',
            notes_url: release.notes_url,
            rollout_percent: release.rollout_percent,
          }
        : [],
    ),
    tuf: { root_version: tuf.versions.root, timestamp_version: tuf.versions.timestamp, metadata_base: metadataBase },
  }
}

/** Values of a request. Missing ones come from those that the device reported. */
type UpdateQuestion = { [K in keyof WantedUpdate]?: WantedUpdate[K] }

/**
 * Returns platform, architecture and version for an answer. A parameter of the request takes precedence. An unknown
 * value is refused by its name.
 */
function wantedOf(asked: UpdateQuestion, known: Asker['known'], releases: readonly LiveRelease[]): WantedUpdate {
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
  if (known === null)
    return failField('version', 'is required, because the device has never reported its client_version')
  if (isVersion.test(known)) return known
  return failField(
    'version',
    `is required, because the client_version of the device, ${JSON.stringify(known)}, is not a version like 1.4.0`,
  )
}

/** A platform without a package is offered nothing, on any architecture. */
function onlyArchOf(releases: readonly LiveRelease[], platform: WantedUpdate['platform']): WantedUpdate['arch'] {
  const packages = releases.flatMap((r) => r.packages.filter((p) => p.platform === platform))
  const archs = [...new Set(packages.map((p) => p.arch))].filter((arch) => arch !== 'universal').sort()
  const [only = 'universal', other] = archs
  if (other === undefined) return only
  return failField(
    'arch',
    `is required, because the device has not reported its arch, and releases have packages for ${archs.join(', ')}`,
  )
}
