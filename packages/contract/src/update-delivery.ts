import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Bytes, Closed, Count, Id, Nullable, Octets, OneOf, Time } from './schema.ts'
import { Version, versionPattern } from './semver.ts'
import { Architecture, Channel, Filename, Platform, Severity, Sha256 } from './updates.ts'
import { packageArchitectures, packagePlatforms } from './vocabulary.ts'

const Update = Closed(
  {
    version: Version,
    channel: Channel,
    platform: Platform,
    arch: Architecture,
    filename: Filename,
    target: Id('package'),
    target_path: Type.String({ description: 'Its path in the TUF repository' }),
    size: Bytes,
    sha256: Sha256,
    mandatory: Type.Boolean({
      description: 'True: this release is mandatory, or one between the current version and it',
    }),
    severity: Severity,
    released_at: Time,
    notes_url: Nullable(Type.String()),
    rollout_percent: Type.Number({ description: 'Percentage of the devices to which the release is offered' }),
  },
  { title: 'Update' },
)
export const UpdateManifest = Closed(
  {
    client_version: Closed({
      current: Version,
      minimum: Nullable(Version),
      latest: Nullable(Version),
    }),
    channel: Channel,
    updates: Type.Array(Update, {
      description: 'Packages of the newest release that is offered; empty: there is nothing newer',
    }),
    generated_at: Time,
    expires_at: Time,
    tuf: Closed({ root_version: Count, timestamp_version: Count, metadata_base: Type.String() }),
    signature: Type.String({ description: 'JWS (typ `update-manifest+jws`) of all of this, tenant and platform' }),
  },
  { title: 'UpdateManifest' },
)

const access = { by: ['device', 'session', 'api_key'], permission: 'updates:read' } as const

export const updateManifest = endpoint({
  method: 'GET',
  path: '/v1/update/manifest',
  summary: 'Get the updates for a device',
  description: 'Administrators and API keys name the device in `device_id`.',
  access,
  query: Closed({
    platform: Type.Optional(
      OneOf(packagePlatforms, { description: 'Platform of the packages. Default: that of the device' }),
    ),
    arch: Type.Optional(
      OneOf(packageArchitectures, {
        description:
          'Architecture of the device. Default: the one that it gave at enrollment or renewal, or else the only one with packages for the platform. With several the answer is 422. `universal` fits every package',
      }),
    ),
    version: Type.Optional(
      Type.String({
        pattern: versionPattern,
        maxLength: 64,
        description:
          'Version that the device runs (Semantic Versioning 2.0.0, without build metadata). Default: the `client_version` that it gave last, at enrollment or renewal. The answer is 422 if that is no such version',
      }),
    ),
    channel: Type.Optional(Channel),
    device_id: Type.Optional(Id('device')),
  }),
  response: UpdateManifest,
  errors: ['not_found', 'validation_error'],
  etag: true,
})
export const updatePackage = endpoint({
  method: 'GET',
  path: '/v1/update/package',
  summary: 'Download a package',
  description: 'A device gets a package that is offered to it, an administrator any package of the tenant.',
  access,
  query: Closed({ target: Id('package') }),
  response: Octets,
  errors: ['not_found', 'rate_limited'],
  download: true,
})
