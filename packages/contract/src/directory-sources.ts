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
  WasChanged,
} from './schema.ts'
import { directorySourceKinds } from './vocabulary.ts'

const fields = {
  enabled: Type.Boolean({
    description: 'True: the server reads the directory on its schedule. Setting false also ends a running pull',
  }),
  issuer: Type.String({
    minLength: 1,
    maxLength: 512,
    examples: ['https://login.example.com/realms/people'],
    description:
      'keycloak: {base}/realms/{realm}; entra_id: https://login.microsoftonline.com/{directory id}/v2.0, or that of a sovereign cloud; okta: the organisation',
  }),
  client_id: Type.String({ minLength: 1, maxLength: 256 }),
  interval_minutes: Type.Integer({
    minimum: 15,
    maximum: 1440,
    description: 'Approximate interval between pulls, in minutes',
  }),
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
    credential_set: Type.Boolean({ description: 'True: a credential is stored' }),
    next_run_at: Nullable(Time),
    failures: Type.Integer({
      minimum: 0,
      description: 'Number of pulls that failed in a row. Each doubles the interval',
    }),
    failing_since: Nullable(Time),
    created_at: Time,
    updated_at: Time,
  },
  { title: 'DirectorySource' },
)
export type DirectorySource = Static<typeof DirectorySource>

const credential = SecretToKeep(
  16_384,
  'For keycloak and entra_id the secret of the client, for okta its private key (JWK or PEM). Stored encrypted and never shown. Absent: unchanged; required with another issuer. null: none',
)
const { issuer, client_id, ...optional } = fields
const reads = { by: ['session', 'api_key'], permission: 'directory:read' } as const
const writes = { by: ['session', 'api_key'], permission: 'directory:write' } as const
const syncs = { by: ['session', 'api_key'], permission: 'directory:sync' } as const
const params = Closed({ source_id: Id('directory_source') })

export const listDirectorySources = endpoint({
  method: 'GET',
  path: '/v1/admin/directory-sync/sources',
  summary: 'List directory sources',
  access: reads,
  query: ListQuery({}, ['created_at'] as const, 'created_at'),
  response: List(DirectorySource),
})
export const createDirectorySource = endpoint({
  method: 'POST',
  path: '/v1/admin/directory-sync/sources',
  summary: 'Create a directory source',
  description: 'The server reads the directory on a schedule. It reads a disabled source only on request.',
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
  summary: 'Get a directory source',
  access: reads,
  params,
  response: DirectorySource,
  etag: true,
})
export const updateDirectorySource = endpoint({
  method: 'PUT',
  path: '/v1/admin/directory-sync/sources/{source_id}',
  summary: 'Replace a directory source',
  description: 'The body of a GET may be sent back unchanged.',
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
  summary: 'Delete a directory source',
  description: 'The server no longer reads the directory. Its users and groups stay.',
  access: writes,
  audit: 'directory_source.deleted',
  stepUp: {},
  params,
  response: Closed({ changed: WasChanged }),
  ifMatch: true,
})
export const testDirectorySource = endpoint({
  method: 'POST',
  path: '/v1/admin/directory-sync/sources/{source_id}/test',
  summary: 'Test a directory source',
  description: 'The server signs in to the directory and reads a first page of users and of groups. It stores nothing.',
  access: writes,
  audit: 'directory_source.tested',
  costly: true,
  patience: 60,
  params,
  response: Closed({
    ok: Type.Boolean({ description: 'True: the test succeeded' }),
    problem: Nullable(Type.String({ description: 'Problem that the test found, as a sentence' })),
    found: Nullable(
      Closed({
        users: Nullable(Count),
        groups: Nullable(Count),
        some_users: Type.Array(Type.String(), { maxItems: 5, description: '`userName` of some users' }),
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
    begun: Type.Boolean({ description: 'False: a pull was already running. `run` is its run' }),
  }),
} as const
export const runDirectorySource = endpoint({
  ...running,
  path: '/v1/admin/directory-sync/sources/{source_id}/run',
  summary: 'Start a pull of a directory source',
  description: 'The run shows the progress, and at the end the changes.',
  params,
})
export const runKeycloakSync = endpoint({
  ...running,
  path: '/v1/admin/directory-sync/keycloak/run',
  summary: 'Start a pull of the Keycloak source',
  description: 'The tenant must have exactly one directory source of the kind `keycloak`.',
})
export const runIdpSync = endpoint({
  ...running,
  path: '/v1/admin/directory-sync/idp/run',
  summary: 'Start a pull of the Keycloak source (second path)',
  description:
    'Same operation as `runKeycloakSync`. The tenant must have exactly one directory source of the kind `keycloak`.',
})
export const cancelDirectoryRun = endpoint({
  method: 'POST',
  path: '/v1/admin/directory-sync/runs/{run_id}/cancel',
  summary: 'Cancel a directory run',
  description: 'This cancels a running pull or a held run. None of its changes are applied.',
  access: syncs,
  audit: 'directory.pull_cancelled',
  params: Closed({ run_id: Id('directory_run') }),
  body: Closed({ reason: Type.Optional(Reason) }),
  response: Closed({ run: DirectoryRun, changed: WasChanged }),
})
