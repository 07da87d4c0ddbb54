import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import {
  Closed,
  Count,
  directoryName,
  EntryName,
  Id,
  List,
  ListQuery,
  Nullable,
  OneOf,
  Reason,
  Time,
  WasChanged,
} from './schema.ts'

/** Permanent id of an entry in its directory. */
const ExternalId = Type.String({ minLength: 1, maxLength: 256 })
const Provider = Type.String({
  ...directoryName,
  description: 'Name of the directory; the first snapshot creates it',
})

/** The attributes of RFC 7643 that are read; of multi-valued ones, only the values. */
const SnapshotUser = Closed({
  externalId: ExternalId,
  userName: EntryName,
  displayName: Type.Optional(Type.String({ maxLength: 256 })),
  emails: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 254 }), {
      maxItems: 10,
      description: 'Mail addresses. The server keeps the first one',
    }),
  ),
  active: Type.Optional(Type.Boolean({ description: 'Default: true' })),
  groups: Type.Optional(
    Type.Array(ExternalId, {
      maxItems: 5000,
      description: 'Groups of the user, in addition to those that name the user as a member',
    }),
  ),
})
const SnapshotGroup = Closed({
  externalId: ExternalId,
  displayName: EntryName,
  members: Type.Array(ExternalId, { maxItems: 100_000, description: 'externalId of users; unknown ones are skipped' }),
})

export const DirectorySnapshot = Closed(
  {
    provider: Provider,
    snapshot_id: Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'Id of this snapshot. A repeated request returns the run of the first request',
    }),
    generated_at: Time,
    full: Type.Literal(true, {
      description: 'True: the snapshot has all users of the directory. Missing users have left',
    }),
    users: Type.Array(SnapshotUser, { maxItems: 100_000 }),
    groups: Type.Array(SnapshotGroup, { maxItems: 20_000 }),
    dry_run: Type.Optional(Type.Boolean({ description: 'Returns the changes without applying them' })),
    confirm_mass_change: Type.Optional(
      Type.Boolean({ description: 'Applies the run even if it exceeds the safety limits' }),
    ),
  },
  { title: 'DirectorySnapshot' },
)
export type DirectorySnapshot = Static<typeof DirectorySnapshot>

export const runStatuses = [
  'fetching',
  'applied',
  'held',
  'unchanged',
  'dry_run',
  'superseded',
  'failed',
  'cancelled',
] as const

export const runSources = ['snapshot', 'scim'] as const

/** Changes that a run made, or would make if it is held or a dry run. */
const Counts = Closed({
  users: Closed({ created: Count, updated: Count, suspended: Count, reactivated: Count, unchanged: Count }),
  groups: Closed({ created: Count, updated: Count, emptied: Count, unchanged: Count }),
  memberships: Closed({ added: Count, removed: Count }),
})
export type RunCounts = Static<typeof Counts>

const HeldReason = Closed({
  rule: OneOf(['empty_snapshot', 'users_removed', 'group_shrunk']),
  removed: Count,
  of: Count,
  most: Type.Integer({ minimum: 0, description: 'Highest number of removals with which a run is applied' }),
  group: Nullable(Type.String({ description: 'Name of the group that would lose its members' })),
})
export type HeldReason = Static<typeof HeldReason>

export const diffChanges = [
  'user_created',
  'user_updated',
  'user_suspended',
  'user_reactivated',
  'group_created',
  'group_updated',
  'group_emptied',
  'group_members_changed',
] as const
const DiffItem = Closed({
  change: OneOf(diffChanges),
  external_id: Type.String(),
  name: Type.String(),
  detail: Nullable(Type.String({ description: 'Changed fields' })),
})
export type DiffItem = Static<typeof DiffItem>

export const problemKinds = [
  'external_id_refused',
  'username_taken',
  'username_refused',
  'email_taken',
  'email_refused',
  'group_name_taken',
  'unknown_group',
  'unknown_member',
  'last_administrator',
  'stronger_user',
] as const
const Problem = Closed({
  problem: OneOf(problemKinds),
  external_id: Type.String(),
  detail: Type.String({ description: 'Reason why the entry was skipped' }),
})
export type Problem = Static<typeof Problem>

const Sample = (description: string) => ({ description })

const Read = Closed({ read: Count, of: Nullable(Count) })
const Progress = Closed(
  {
    phase: OneOf(['users', 'groups', 'members', 'changes', 'applying']),
    users: Read,
    groups: Read,
    memberships: Count,
    requests: Count,
    retries: Count,
  },
  { description: 'Progress of a pull. `of` is null if the directory gives no total' },
)

const summary = {
  run_id: Id('directory_run'),
  provider: Type.String(),
  snapshot_id: Type.String(),
  generated_at: Time,
  source: OneOf(runSources, {
    description: '`scim`: a run has the changes of one hour, or the held changes',
  }),
  status: OneOf(runStatuses, {
    description:
      '`fetching`: the pull is running. `held`: an administrator must confirm the run before it is applied. `superseded`: a newer run has replaced this held run',
  }),
  counts: Counts,
  held_because: Type.Array(HeldReason, { maxItems: 20 }),
  problem_count: Count,
  source_id: Nullable(Id('directory_source')),
  progress: Nullable(Progress),
  failure: Nullable(Type.String({ description: 'Reason of the failure, as a sentence' })),
  started_at: Time,
  finished_at: Nullable(Time),
  confirmed_at: Nullable(Time),
  undone_at: Nullable(Time),
}
export const DirectoryRunSummary = Closed(summary, { title: 'DirectoryRunSummary' })
export const DirectoryRun = Closed(
  {
    ...summary,
    diff: Type.Array(
      DiffItem,
      Sample(
        'At most 25 changes of each kind; `counts` has their numbers. For held SCIM changes: the first 100 requested changes that were not applied, which `counts` omits',
      ),
    ),
    problems: Type.Array(Problem, Sample('Skipped entries; at most 100')),
  },
  { title: 'DirectoryRun' },
)

const Directory = Closed(
  {
    provider: Type.String(),
    source: OneOf(runSources, { description: 'Source of the directory' }),
    generated_at: Nullable(Time),
    users: Closed({ active: Count, suspended: Count }),
    groups: Count,
    last_run: Nullable(DirectoryRunSummary),
    last_success: Nullable(DirectoryRunSummary),
    held_run: Nullable(DirectoryRunSummary),
  },
  { title: 'Directory' },
)

const reads = { by: ['session', 'api_key'], permission: 'directory:read' } as const
const syncs = { by: ['session', 'api_key'], permission: 'directory:sync' } as const
const runPath = Closed({ run_id: Id('directory_run') })

export const ingestDirectorySnapshot = endpoint({
  method: 'POST',
  path: '/v1/admin/directory-sync/snapshot',
  summary: 'Apply a snapshot of a directory',
  description: 'The snapshot has the users and groups of the directory.',
  access: syncs,
  audit: 'directory.synced',
  errors: ['entitlement_exceeded'],
  body: DirectorySnapshot,
  bodyLimit: 64 * 1024 * 1024,
  bodyNames: 1_000_000,
  foreignTexts: true,
  costly: true,
  patience: 200,
  response: DirectoryRun,
})

export const getDirectorySyncStatus = endpoint({
  method: 'GET',
  path: '/v1/admin/directory-sync/status',
  summary: 'List directories',
  description: 'Each has its numbers of users and groups, and its last runs.',
  access: reads,
  query: ListQuery({}, ['provider'] as const, 'provider'),
  response: List(Directory),
})

export const listDirectoryRuns = endpoint({
  method: 'GET',
  path: '/v1/admin/directory-sync/runs',
  summary: 'List directory runs',
  access: reads,
  query: ListQuery(
    { provider: Type.Optional(Provider), status: Type.Optional(OneOf(runStatuses)) },
    ['started_at'] as const,
    '-started_at',
  ),
  response: List(DirectoryRunSummary),
})

export const getDirectoryRun = endpoint({
  method: 'GET',
  path: '/v1/admin/directory-sync/runs/{run_id}',
  summary: 'Get a directory run',
  description: 'The answer has a sample of the changes.',
  access: reads,
  params: runPath,
  response: DirectoryRun,
})

export const confirmDirectoryRun = endpoint({
  method: 'POST',
  path: '/v1/admin/directory-sync/runs/{run_id}/confirm',
  summary: 'Confirm a held directory run',
  description:
    'The server applies the run to the current state. For SCIM it accepts the held changes for an hour, when the provider repeats them.',
  access: syncs,
  audit: 'directory.synced',
  errors: ['entitlement_exceeded'],
  params: runPath,
  body: Closed({ reason: Type.Optional(Reason) }),
  costly: true,
  patience: 200,
  response: DirectoryRun,
})

export const undoDirectoryRun = endpoint({
  method: 'POST',
  path: '/v1/admin/directory-sync/runs/{run_id}/undo',
  summary: 'Undo the newest applied directory run',
  description: 'This undoes suspensions of users and changes of groups.',
  access: syncs,
  audit: 'directory.sync_undone',
  errors: ['entitlement_exceeded'],
  params: runPath,
  body: Closed({ reason: Type.Optional(Reason) }),
  costly: true,
  patience: 200,
  response: Closed({
    run: DirectoryRun,
    changed: WasChanged,
    undone: Closed({ users_reactivated: Count, memberships_added: Count, memberships_removed: Count }),
    left: Closed(
      {
        users_created: Count,
        users_updated: Count,
        users_reactivated: Count,
        groups_created: Count,
        groups_updated: Count,
        users_changed_since: Count,
        memberships_changed_since: Count,
      },
      { description: 'Changes that are not undone' },
    ),
  }),
})
