import type { TenantId } from '../../kernel/actor.ts'
import type { Default, Derived, Json } from './columns.ts'

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
    status: 'applied' | 'held' | 'unchanged' | 'dry_run' | 'superseded' | 'failed'
    counts: Json<Measured>
    held_because: Json<object[]>
    diff: Json<object[]>
    problems: Json<object[]>
    problem_count: Default<number>
    started_at: Date
    finished_at: Date
    confirmed_at: Date | null
    undone_at: Date | null
    source: Default<'snapshot' | 'scim'>
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
  directory_run_contents: { tenant_id: TenantId; run_id: string; content: string }
}
