import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import {
  Bytes,
  Closed,
  Count,
  Id,
  Ids,
  List,
  ListQuery,
  Nothing,
  Nullable,
  Octets,
  OneOf,
  Partial,
  Reason,
  Shown,
  Time,
  WasChanged,
} from './schema.ts'
import { Version } from './semver.ts'
import {
  deviceArchitectures,
  packageArchitectures,
  packagePlatforms,
  releaseChannels,
  releaseOperations,
  releaseSeverities,
  releaseStatuses,
} from './vocabulary.ts'

export const Channel = OneOf(releaseChannels)
export const Platform = OneOf(packagePlatforms)
export const DeviceArchitecture = OneOf(deviceArchitectures, {
  title: 'DeviceArchitecture',
  description: 'Architecture of the machine, for the choice of packages',
})
export const Architecture = OneOf(packageArchitectures, { description: '`universal` fits every architecture' })
export const Sha256 = Type.String({ title: 'Sha256', pattern: '^[0-9a-f]{64}$', description: 'SHA-256, hexadecimal' })
export const Filename = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$',
  maxLength: 128,
  examples: ['holdfast-1.4.0.tar.gz'],
})
export const Severity = OneOf(releaseSeverities)
const Notes = Type.String({ maxLength: 10_000 })
const NotesUrl = Nullable(Type.String({ maxLength: 1024, pattern: '^https://[!-~]+$' }))

export const ReleaseRollout = Closed(
  {
    percent: Type.Number({
      minimum: 0,
      maximum: 100,
      multipleOf: 0.01,
      description:
        'Percentage of the devices, chosen by a hash of device and version. A higher percentage only adds devices',
    }),
    group_ids: Ids('group', 100),
  },
  {
    title: 'ReleaseRollout',
    description: 'Devices to which the release is offered: those of the groups, and a percentage of all',
  },
)

const releaseFields = {
  notes: Notes,
  notes_url: NotesUrl,
  severity: Severity,
  mandatory: Type.Boolean({ description: 'True: devices with an older version must update' }),
  min_from_version: Nullable(Version),
}
export const Release = Closed(
  {
    release_id: Id('release'),
    tenant_id: Id('tenant'),
    version: Version,
    channel: Channel,
    status: OneOf(releaseStatuses),
    ...releaseFields,
    rollout: ReleaseRollout,
    reason: Nullable(Type.String({ description: 'Reason of the pause, the halt or the withdrawal' })),
    packages: Count,
    created_at: Time,
    updated_at: Time,
    published_at: Nullable(Time),
    promoted_at: Nullable(Time),
  },
  { title: 'Release' },
)
export const Package = Closed(
  {
    package_id: Id('package'),
    release_id: Id('release'),
    platform: Platform,
    arch: Architecture,
    filename: Filename,
    size: Bytes,
    sha256: Sha256,
    target_path: Type.String({ description: 'Its path in the TUF repository' }),
    created_at: Time,
  },
  { title: 'Package' },
)

const releaseParams = Closed({ release_id: Id('release') })
const access = {
  read: { by: ['session', 'api_key'], permission: 'updates:read' },
  write: { by: ['session', 'api_key'], permission: 'updates:write' },
} as const
const releases = '/v1/admin/updates/releases'

export const listReleases = endpoint({
  method: 'GET',
  path: releases,
  summary: 'List releases',
  access: access.read,
  query: ListQuery(
    { channel: Type.Optional(Channel), status: Type.Optional(OneOf(releaseStatuses)) },
    ['created_at'] as const,
    '-created_at',
  ),
  response: List(Release),
})
export const createRelease = endpoint({
  method: 'POST',
  path: releases,
  summary: 'Create a release',
  description: 'The release is a draft without packages.',
  access: access.write,
  audit: 'release.created',
  status: 201,
  body: Closed({ version: Version, channel: Channel, ...Partial(Closed(releaseFields)).properties }),
  response: Release,
})
export const getRelease = endpoint({
  method: 'GET',
  path: `${releases}/{release_id}`,
  summary: 'Get a release',
  access: access.read,
  params: releaseParams,
  response: Release,
  etag: true,
})
export const updateRelease = endpoint({
  method: 'PUT',
  path: `${releases}/{release_id}`,
  summary: 'Replace the settings of a draft',
  description: 'The body of a GET may be sent back unchanged.',
  access: access.write,
  audit: 'release.updated',
  params: releaseParams,
  body: Closed({ ...Shown(Release), ...releaseFields }),
  response: Release,
  ifMatch: true,
})
export const deleteRelease = endpoint({
  method: 'DELETE',
  path: `${releases}/{release_id}`,
  summary: 'Delete a draft and its packages',
  access: access.write,
  audit: 'release.deleted',
  params: releaseParams,
  response: Nothing,
  status: 204,
})
export const changeRelease = endpoint({
  method: 'POST',
  path: `${releases}/{release_id}/lifecycle`,
  summary: 'Publish or change a release',
  description:
    'An operation publishes, pauses, resumes, halts, withdraws or promotes the release, or sets its rollout.',
  access: access.write,
  audit: 'release.changed',
  params: releaseParams,
  body: Closed({
    operation: OneOf(releaseOperations, {
      description:
        '`halt` and `withdraw` are final and also end downloads. `promote` moves the release from canary to stable. `roll_out` sets `rollout`; `publish` and `promote` may also set it',
    }),
    rollout: Type.Optional(ReleaseRollout),
    reason: Type.Optional(Reason),
  }),
  response: Closed({ operation: OneOf(releaseOperations), changed: WasChanged, release: Release }),
  ifMatch: true,
})

export const listPackages = endpoint({
  method: 'GET',
  path: `${releases}/{release_id}/packages`,
  summary: 'List the packages of a release',
  access: access.read,
  params: releaseParams,
  query: ListQuery({}, ['created_at'] as const, 'created_at'),
  response: List(Package),
})
export const uploadPackage = endpoint({
  method: 'POST',
  path: `${releases}/{release_id}/packages`,
  summary: 'Upload a package to a draft',
  description: 'The body is the bytes of the package.',
  access: access.write,
  audit: 'package.created',
  status: 201,
  upload: true,
  params: releaseParams,
  query: Closed({ platform: Platform, arch: Architecture, filename: Filename }),
  body: Octets,
  response: Closed({ package: Package, changed: WasChanged }),
  patience: 300,
})
export const deletePackage = endpoint({
  method: 'DELETE',
  path: `${releases}/{release_id}/packages/{package_id}`,
  summary: 'Delete a package of a draft',
  access: access.write,
  audit: 'package.deleted',
  params: Closed({ release_id: Id('release'), package_id: Id('package') }),
  response: Nothing,
  status: 204,
})
