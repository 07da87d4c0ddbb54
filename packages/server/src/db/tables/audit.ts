import type { TenantId } from '../../kernel/actor.ts'
import type { Derived } from './columns.ts'

export type AuditTables = {
  /** Recorded events without a sequence number yet. */
  audit_arrivals: {
    tenant_id: TenantId
    event_id: string
    at: Date
    kind: string
    outcome: 'success' | 'refused' | 'failed'
    actor_id: string | null
    target_id: string | null
    source_ip: string | null
    request_id: string | null
    /** The event in RFC 8785 form, without its sequence number. */
    record: string
    arrival: Derived<number>
    actor_name: string | null
    target_name: string | null
  }
  /** The audit log, each event with its sequence number. Only `sequence_audit` writes it. */
  audit_log: {
    tenant_id: TenantId
    event_id: string
    at: Date
    kind: string
    outcome: 'success' | 'refused' | 'failed'
    actor_id: string | null
    target_id: string | null
    source_ip: string | null
    request_id: string | null
    /** The event in RFC 8785 form, without its sequence number. */
    record: string
    seq: number
    actor_name_key: string | null
    target_name_key: string | null
    hash: Buffer
    sequenced_at: Date
  }
  /** Number of events per hour, counted when they get their sequence number. */
  audit_counts: {
    tenant_id: TenantId
    hour: Date
    kind: string
    outcome: 'success' | 'refused' | 'failed'
    events: number
  }
  /** Events reported by gateways, under their own ids. */
  audit_ingested: { tenant_id: TenantId; gateway_id: string; event_id: string; received_at: Date }
  /** Search index: hashes of words per block of the audit log. */
  audit_words: { tenant_id: TenantId; block: number; first_at: Date; last_at: Date; words: string[] }
  /** Head of each tenant's audit log. */
  audit_heads: { tenant_id: TenantId; seq: number; hash: Buffer }
  /** Full tiles of the Merkle tree over the audit log, 256 hashes each. */
  audit_tiles: { tenant_id: TenantId; level: number; number: number; hashes: Buffer; root: Buffer }
  /** Hashes of purged events whose tile is not full yet. */
  audit_leaves: { tenant_id: TenantId; seq: number; hash: Buffer }
  /** Signed heads of the tree. */
  audit_checkpoints: { tenant_id: TenantId; size: number; kid: string; note: string; created_at: Date }
  /** Sequence number after which the audit log begins. Only `purge_audit` writes it. */
  audit_beginnings: { tenant_id: TenantId; seq: number; hash: Buffer }
}
