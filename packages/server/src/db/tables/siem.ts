import type { SiemConnectorKind, SiemFormat } from '@holdfast/contract/vocabulary'
import type { TenantId } from '../../kernel/actor.ts'
import type { Default, Json } from './columns.ts'

type Tls = { ca_pem: string | null; server_name: string | null }
/** Null: not used by this kind of connector. */
export type Destination = {
  url: string | null
  host: string | null
  port: number | null
  index: string | null
  username: string | null
  /** Absent for connectors of an earlier version: their syslog messages have a BOM. */
  bom?: boolean | null
  tls: Tls
}

export type SiemTables = {
  siem_connectors: {
    tenant_id: TenantId
    connector_id: string
    name: string
    kind: SiemConnectorKind
    format: SiemFormat
    enabled: boolean
    destination: Json<Destination>
    credential_jwe: string | null
    previous_credential_jwe: Default<string | null>
    previous_until: Default<Date | null>
    created_at: Date
    updated_at: Date
    deleted_at: Date | null
  }
  siem_streams: {
    tenant_id: TenantId
    stream_id: string
    connector_id: string
    from_at: Date | null
    to_at: Date | null
    after_seq: number | null
    until_seq: number | null
    events: number | null
    state: 'flowing' | 'stopped' | 'parked' | 'finished' | 'failed'
    problem: string | null
    replays: Default<boolean>
    replay_failures: Default<number>
    replay_due_at: Default<Date>
    batch_events: Default<number>
    is_slow: Default<boolean>
    runs: Default<number>
    failures: Default<number>
    failing_since: Date | null
    refused_in_a_row: Default<number>
    delivered: Default<number>
    failed: Default<number>
    dead: Default<number>
    lost: Default<number>
    furthest_seq: Default<number>
    last_delivered_at: Date | null
    due_at: Default<Date>
    lease: string | null
    leased_until: Date | null
    created_at: Default<Date>
    finished_at: Date | null
  }
  siem_dead_letters: {
    tenant_id: TenantId
    connector_id: string
    seq: number
    event_id: string
    kind: string
    reason: string
    failed_at: Date
    replaying: Default<boolean>
    of_export: Default<boolean>
  }
}
