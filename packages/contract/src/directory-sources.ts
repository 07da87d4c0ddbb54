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
  enabled: Type.Boolean({ description: 'Whether it is read on its schedule; what is on its way ends with it' }),
  issuer: Type.String({
    minLength: 1,
    maxLength: 512,
    examples: ['https://login.example.com/realms/people'],
    description:
      'keycloak: {base}/realms/{realm}; entra_id: https://login.microsoftonline.com/{directory id}/v2.0, or that of a sovereign cloud; okta: the organisation',
  }),
  client_id: Type.String({ minLength: 1, maxLength: 256 }),
  interval_minutes: Type.Integer({ minimum: 15, maximum: 1440, description: 'From one pull to the next, about' }),
  users: OneOf(['all', 'in_groups'], {
    description: 'Everybody whom the directory shows, or those who are in a group that is taken',
  }),
  groups: Closed({
    take: OneOf(['all', 'none', 'listed']),
    names: Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
      maxItems: 200,
      uniqueItems: true,
      description: 'Of listed ones; * at the end stands for any rest. Groups of Keycloak have paths: /engineering/*',
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
  'keycloak, entra_id: the secret of the client; okta: its private key, a JWK or PEM. Stored encrypted and never shown; absent: as it was, which another issuer refuses; null: none',
)
const { issuer, client_id, ...optional } = fields
const reads = { by: ['session', 'api_key'], permission: 'directory:read' } as const
const writes = { by: ['session', 'api_key'], permission: 'directory:write' } as const
const syncs = { by: ['session', 'api_key'], permission: 'directory:sync' } as const
const params = Closed({ source_id: Id('directory_source') })

export const listDirectorySources = endpoint({
  method: 'GET',
  path: '/v1/admin/directory-sync/sources',
  summary: 'Directories that are read from here',
  access: reads,
  query: ListQuery({}, ['created_at'] as const),
  response: List(DirectorySource),
})
export const createDirectorySource = endpoint({
  method: 'POST',
  path: '/v1/admin/directory-sync/sources',
  summary: 'Read a directory from here on a schedule; one that is not enabled is read only when somebody asks',
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
  summary: 'Replace what is set of it; what a GET showed may be sent back whole',
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
  summary: 'Read it no more; its users and groups stay as they are',
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
  summary: 'Sign in there, read a first page of users and of groups, and say what was found; keeps nothing',
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
  dry_run: Type.Optional(Type.Boolean({ description: 'Says what would change, and changes nothing' })),
  confirm_mass_change: Type.Optional(Type.Boolean({ description: 'Applies also what would be held' })),
})
const running = {
  method: 'POST',
  access: syncs,
  audit: 'directory.pull_started',
  status: 202,
  body: Run,
  response: Closed({
    run: DirectoryRun,
    begun: Type.Boolean({ description: 'False: a pull was on its way, and this is it' }),
  }),
} as const
export const runDirectorySource = endpoint({
  ...running,
  path: '/v1/admin/directory-sync/sources/{source_id}/run',
  summary: 'Begin a pull; the run says how far it is, and in the end what it changed',
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
  summary: 'The same under the path of the specification',
})
export const cancelDirectoryRun = endpoint({
  method: 'POST',
  path: '/v1/admin/directory-sync/runs/{run_id}/cancel',
  summary: 'End a pull that is on its way, or let go what is held; nothing of it is applied',
  access: syncs,
  audit: 'directory.pull_cancelled',
  params: Closed({ run_id: Id('directory_run') }),
  body: Closed({ reason: Type.Optional(Reason) }),
  response: Closed({ run: DirectoryRun, changed: Type.Boolean() }),
})
