import type { ReleaseStatus } from '@holdfast/contract/vocabulary'
import type { TenantId } from '../../kernel/actor.ts'

type Platform = 'linux' | 'macos' | 'windows' | 'ios' | 'android' | 'other'
type Architecture = 'x64' | 'arm64' | 'x86' | 'arm' | 'universal'

export type UpdatesTables = {
  update_repositories: { tenant_id: TenantId }
  releases: {
    tenant_id: TenantId
    release_id: string
    version: string
    channel: 'canary' | 'stable'
    status: ReleaseStatus
    notes: string
    notes_url: string | null
    severity: 'low' | 'normal' | 'high' | 'critical'
    mandatory: boolean
    min_from_version: string | null
    rollout_percent: number
    rollout_group_ids: string[]
    reason: string | null
    created_at: Date
    updated_at: Date
    published_at: Date | null
    promoted_at: Date | null
  }
  package_blobs: {
    tenant_id: TenantId
    blob_id: string
    sha256: string
    size: number
    state: 'storing' | 'stored' | 'removing'
    since: Date
  }
  release_packages: {
    tenant_id: TenantId
    package_id: string
    release_id: string
    blob_id: string
    platform: Platform
    arch: Architecture
    filename: string
    created_at: Date
  }
  tuf_metadata: {
    tenant_id: TenantId
    role: 'root' | 'targets' | 'snapshot' | 'timestamp'
    version: number
    document: string
    expires_at: Date
    created_at: Date
  }
}
