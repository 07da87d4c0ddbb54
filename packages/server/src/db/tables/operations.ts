import type { LockTarget, RunStatus, StepStatus, ViewList, WorkflowKind } from '@holdfast/contract/vocabulary'
import type { TenantId } from '../../kernel/actor.ts'
import type { Derived, Json } from './columns.ts'

/** Actor, as in events. */
export type StoredParty = { type: string; id: string | null; name: string | null }
/** Credential by which a run was requested. Ids are UUIDs. */
type Credential = { kind: 'session' | 'api_key'; tenant_id: TenantId; id: string; user_id: string | null }
/** Requester of a run, with the origin of the request. */
export type RunRequester = StoredParty & {
  credential: Credential
  origin: 'api' | 'console'
  source_ip: string
  user_agent: string | null
  /** UUIDs of the people behind the request. Absent in rows of earlier versions. */
  stands_for?: string[]
}
/** A public key, as a JWK. */
type Recipient = { kty: 'EC'; crv: 'P-256'; x: string; y: string }
/** A call of an operation of the contract. `recipient` is the key to which a secret in the response is encrypted. */
export type StoredCall = { operation: string; params?: object; body?: object; recipient?: Recipient }

export type OperationsTables = {
  /** Search index. Triggers of the tables with the names maintain it. */
  search_words: { tenant_id: TenantId; kind: string; place: 0 | 1; word: string; subject_id: string }
  saved_views: {
    tenant_id: TenantId
    view_id: string
    owner_id: string | null
    list: ViewList
    name: string
    name_key: Derived<string>
    query: Json<Record<string, string>>
    shared: boolean
    created_at: Date
    updated_at: Date
    deleted_at: Date | null
  }
  locks: {
    tenant_id: TenantId
    lock_id: string
    target_type: LockTarget
    target_id: string
    target_name: string | null
    reason: string
    created_by: Json<StoredParty>
    created_at: Date
    expires_at: Date | null
    released_by: Json<StoredParty> | null
    released_at: Date | null
  }
  workflow_runs: {
    tenant_id: TenantId
    workflow_run_id: string
    kind: WorkflowKind
    workflow: string
    params: Json<Record<string, unknown>>
    reason: string | null
    status: Exclude<RunStatus, 'planned'>
    second_approver: boolean
    approval_expires_at: Date | null
    requested_by: Json<RunRequester>
    approved_by: Json<StoredParty> | null
    cancelled_at: Date | null
    undo_of: string | null
    undo_after_seconds: number | null
    undo_at: Date | null
    seq_before: number
    evidence: string | null
    evidence_digest: string | null
    claimed_by: string | null
    claimed_until: Date
    created_at: Date
    started_at: Date | null
    finished_at: Date | null
  }
  workflow_steps: {
    tenant_id: TenantId
    workflow_run_id: string
    step: number
    action: string
    summary: string
    input: Json<StoredCall>
    affects: Json<StoredParty[]>
    affects_count: number
    on_error: 'stop' | 'continue'
    reversible: boolean
    status: StepStatus
    result: Json<Record<string, unknown>>
    undo: Json<StoredCall[]>
    error: string | null
    attempts: number
    started_at: Date | null
    finished_at: Date | null
  }
}
