import type { TenantId } from '../../kernel/actor.ts'
import type { Derived } from './columns.ts'

export type AuditTables = {
  /** Written, and without a place yet. */
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
    /** The event as RFC 8785 writes it, without its place. */
    record: string
    arrival: Derived<number>
    actor_name: string | null
    target_name: string | null
  }
  /** The record, each event at its place; written by `sequence_audit` alone. */
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
    /** The event as RFC 8785 writes it, without its place. */
    record: string
    seq: number
    actor_name_key: string | null
    target_name_key: string | null
    hash: Buffer
    sequenced_at: Date
  }
  /** How many events each hour had, counted as they come into the record. */
  audit_counts: {
    tenant_id: TenantId
    hour: Date
    kind: string
    outcome: 'success' | 'refused' | 'failed'
    events: number
  }
  /** What gateways have reported, under their own ids. */
  audit_ingested: { tenant_id: TenantId; gateway_id: string; event_id: string; received_at: Date }
  /** Which words stand in which block of the record; `words` are hashes. */
  audit_words: { tenant_id: TenantId; block: number; first_at: Date; last_at: Date; words: string[] }
  /** Where the record of each tenant ends. */
  audit_heads: { tenant_id: TenantId; seq: number; hash: Buffer }
  /** Full tiles of the Merkle tree over the record, 256 hashes each. */
  audit_tiles: { tenant_id: TenantId; level: number; number: number; hashes: Buffer; root: Buffer }
  /** Hashes of purged places whose tile is not full yet. */
  audit_leaves: { tenant_id: TenantId; seq: number; hash: Buffer }
  /** Signed heads of the tree. */
  audit_checkpoints: { tenant_id: TenantId; size: number; kid: string; note: string; created_at: Date }
}
