import type { DirectorySourceKind } from '@holdfast/contract/vocabulary'
import type { ColumnType } from 'kysely'
import type { TenantId } from '../../kernel/actor.ts'
import type { Default, Derived, Json } from './columns.ts'

/** Progress of a pull. */
export type PullProgress = {
  phase: 'users' | 'groups' | 'members' | 'changes' | 'applying'
  users: { read: number; of: number | null }
  groups: { read: number; of: number | null }
  memberships: number
  requests: number
  retries: number
}
/** Stored state from which a pull of changes continues. */
export type KeptReading = { links: { users: string; groups: string }; readAt: string; pages: number }
export type DirectoryRequester = { type: string; id: string | null; name: string | null }
type Measured = Record<string, Record<string, number>>

export type DirectoryTables = {
  directories: {
    tenant_id: TenantId
    directory_id: string
    provider: string
    provider_key: Derived<string>
    generated_at: Date | null
    created_at: Date
    source: Default<'snapshot' | 'scim'>
  }
  directory_runs: {
    tenant_id: TenantId
    run_id: string
    directory_id: string | null
    provider: string
    provider_key: Derived<string>
    snapshot_id: string
    generated_at: Date
    status: 'fetching' | 'applied' | 'held' | 'unchanged' | 'dry_run' | 'superseded' | 'failed' | 'cancelled'
    counts: Json<Measured>
    held_because: Json<object[]>
    diff: Json<object[]>
    problems: Json<object[]>
    problem_count: Default<number>
    started_at: Date
    finished_at: Date | null
    confirmed_at: Date | null
    undone_at: Date | null
    source: Default<'snapshot' | 'scim'>
    source_id: string | null
    progress: ColumnType<PullProgress | null, string | null, string | null>
    failure: string | null
  }
  directory_windows: {
    tenant_id: TenantId
    directory_id: string
    group_id: string
    since: Date
    had: number
    removed: number
    held_run_id: string | null
    free_until: Date | null
  }
  directory_window_moves: {
    tenant_id: TenantId
    directory_id: string
    group_id: string
    user_id: string
    came: boolean
  }
  directory_run_contents: { tenant_id: TenantId; run_id: string; content: string }
  directory_sources: {
    tenant_id: TenantId
    source_id: string
    directory_id: string
    kind: DirectorySourceKind
    enabled: boolean
    issuer: string
    client_id: string
    credential_jwe: string | null
    interval_minutes: number
    take_users: 'all' | 'in_groups'
    take_groups: 'all' | 'none' | 'listed'
    group_names: Json<string[]>
    next_run_at: Date | null
    failures: Default<number>
    failing_since: Date | null
    kept: ColumnType<KeptReading | null, string | null, string | null>
    created_at: Date
    updated_at: Date
    deleted_at: Date | null
  }
  directory_pulls: {
    tenant_id: TenantId
    source_id: string
    run_id: string
    dry_run: boolean
    confirmed: boolean
    requested_by: ColumnType<DirectoryRequester | null, string | null, string | null>
    cursor: Json<object>
    pages: number
    claimed_by: string | null
    claimed_until: Date
  }
  directory_pages: { tenant_id: TenantId; source_id: string; page: number; content: string }
}
