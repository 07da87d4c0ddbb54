import { type Static, Type } from 'typebox'
import { DirectoryRun } from './directory.ts'
import { endpoint } from './endpoint.ts'
import {
  Closed,
  Count,
  Id,
  List,
  ListQuery,
  Nullable,
  OneOf,
  Partial,
  Reason,
  SecretToKeep,
  Shown,
  Time,
} from './schema.ts'
import { directorySourceKinds } from './vocabulary.ts'

const fields = {
  enabled: Type.Boolean({ description: 'Whether it is read on its schedule; false also ends a running pull' }),
  issuer: Type.String({
    minLength: 1,
    maxLength: 512,
    examples: ['https://login.example.com/realms/people'],
    description:
      'keycloak: {base}/realms/{realm}; entra_id: https://login.microsoftonline.com/{directory id}/v2.0, or that of a sovereign cloud; okta: the organisation',
  }),
  client_id: Type.String({ minLength: 1, maxLength: 256 }),
  interval_minutes: Type.Integer({ minimum: 15, maximum: 1440, description: 'Approximate interval between pulls' }),
  users: OneOf(['all', 'in_groups'], {
    description: 'All users of the directory, or only members of imported groups',
  }),
  groups: Closed({
    take: OneOf(['all', 'none', 'listed']),
    names: Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
      maxItems: 200,
      uniqueItems: true,
      description: 'Groups to import; * at the end matches any rest. Groups of Keycloak have paths: /engineering/*',
    }),
  }),
}
export const DirectorySource = Closed(
  {
    source_id: Id('directory_source'),
    tenant_id: Id('tenant'),
    provider: Type.String({ description: 'Name of the directory' }),
    kind: OneOf(directorySourceKinds),
    ...fields,
    credential_set: Type.Boolean(),
    next_run_at: Nullable(Time),
    failures: Type.Integer({ minimum: 0, description: 'Pulls that failed in a row; each doubles the interval' }),
    failing_since: Nullable(Time),
    created_at: Time,
    updated_at: Time,
  },
  { title: 'DirectorySource' },
)
export type DirectorySource = Static<typeof DirectorySource>

const credential = SecretToKeep(
  16_384,
  'keycloak, entra_id: the secret of the client; okta: its private key, a JWK or PEM. Stored encrypted and never shown; absent: unchanged, not allowed with another issuer; null: none',
)
const { issuer, client_id, ...optional } = fields
const reads = { by: ['session', 'api_key'], permission: 'directory:read' } as const
const writes = { by: ['session', 'api_key'], permission: 'directory:write' } as const
const syncs = { by: ['session', 'api_key'], permission: 'directory:sync' } as const
const params = Closed({ source_id: Id('directory_source') })

export const listDirectorySources = endpoint({
  method: 'GET',
  path: '/v1/admin/directory-sync/sources',
  summary: 'List the directories that this server reads',
  access: reads,
  query: ListQuery({}, ['created_at'] as const),
  response: List(DirectorySource),
})
export const createDirectorySource = endpoint({
  method: 'POST',
  path: '/v1/admin/directory-sync/sources',
  summary: 'Add a directory that this server reads on a schedule; a disabled one is read only on request',
  access: writes,
  audit: 'directory_source.created',
  status: 201,
  stepUp: {},
  body: Closed({
    provider: Type.String({
      minLength: 1,
      maxLength: 64,
      pattern: '^\\S(.*\\S)?$',
      description: 'Name of the directory, which may have sent snapshots before',
    }),
    kind: OneOf(directorySourceKinds),
    issuer,
    client_id,
    credential,
    ...Partial(Closed(optional)).properties,
  }),
  response: DirectorySource,
})
export const getDirectorySource = endpoint({
  method: 'GET',
  path: '/v1/admin/directory-sync/sources/{source_id}',
  summary: 'One of them',
  access: reads,
  params,
  response: DirectorySource,
  etag: true,
})
export const updateDirectorySource = endpoint({
  method: 'PUT',
  path: '/v1/admin/directory-sync/sources/{source_id}',
  summary: 'Replace its settings; the body of a GET may be sent back unchanged',
  access: writes,
  audit: 'directory_source.updated',
  stepUp: {},
  params,
  body: Closed({ ...Shown(DirectorySource), ...fields, credential }),
  response: DirectorySource,
  ifMatch: true,
})
export const deleteDirectorySource = endpoint({
  method: 'DELETE',
  path: '/v1/admin/directory-sync/sources/{source_id}',
  summary: 'Stop reading it; its users and groups stay',
  access: writes,
  audit: 'directory_source.deleted',
  stepUp: {},
  params,
  response: Closed({ changed: Type.Boolean() }),
  ifMatch: true,
})
export const testDirectorySource = endpoint({
  method: 'POST',
  path: '/v1/admin/directory-sync/sources/{source_id}/test',
  summary: 'Sign in to the directory, read a first page of users and of groups, and return the result; stores nothing',
  access: writes,
  audit: 'directory_source.tested',
  costly: true,
  patience: 60,
  params,
  response: Closed({
    ok: Type.Boolean(),
    problem: Nullable(Type.String({ description: 'What is wrong, as a sentence' })),
    found: Nullable(
      Closed({
        users: Nullable(Count),
        groups: Nullable(Count),
        some_users: Type.Array(Type.String(), { maxItems: 5, description: 'userName of a few' }),
      }),
    ),
  }),
})

const Run = Closed({
  dry_run: Type.Optional(Type.Boolean({ description: 'Returns the changes without applying them' })),
  confirm_mass_change: Type.Optional(
    Type.Boolean({ description: 'Applies the run even if it exceeds the safety limits' }),
  ),
})
const running = {
  method: 'POST',
  access: syncs,
  audit: 'directory.pull_started',
  status: 202,
  body: Run,
  response: Closed({
    run: DirectoryRun,
    begun: Type.Boolean({ description: 'False: a pull was already running, and this is its run' }),
  }),
} as const
export const runDirectorySource = endpoint({
  ...running,
  path: '/v1/admin/directory-sync/sources/{source_id}/run',
  summary: 'Begin a pull; its run shows the progress, and in the end the changes',
  params,
})
export const runKeycloakSync = endpoint({
  ...running,
  path: '/v1/admin/directory-sync/keycloak/run',
  summary: 'Begin a pull of the only Keycloak that the tenant has as a source',
})
export const runIdpSync = endpoint({
  ...running,
  path: '/v1/admin/directory-sync/idp/run',
  summary: 'The same operation at the path of the specification',
})
export const cancelDirectoryRun = endpoint({
  method: 'POST',
  path: '/v1/admin/directory-sync/runs/{run_id}/cancel',
  summary: 'Cancel a running pull or a held run; nothing of it is applied',
  access: syncs,
  audit: 'directory.pull_cancelled',
  params: Closed({ run_id: Id('directory_run') }),
  body: Closed({ reason: Type.Optional(Reason) }),
  response: Closed({ run: DirectoryRun, changed: Type.Boolean() }),
})
