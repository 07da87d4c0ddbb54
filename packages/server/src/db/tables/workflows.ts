import type { RunStatus, StepStatus, WorkflowKind } from '@holdfast/contract/vocabulary'
import type { TenantId } from '../../kernel/actor.ts'
import type { Json, StoredParty } from './columns.ts'

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

export type WorkflowsTables = {
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
