import type { TenantId } from '../../kernel/actor.ts'
import type { Derived, Json } from './columns.ts'

export type AuditTables = {
  audit_events: {
    tenant_id: TenantId
    event_id: string
    at: Date
    kind: string
    outcome: 'success' | 'refused' | 'failed'
    actor_type: string
    actor_id: string | null
    actor_name: string | null
    target_type: string | null
    target_id: string | null
    target_name: string | null
    source_ip: string | null
    user_agent: string | null
    request_id: string | null
    origin: string
    fields: Json<Record<string, unknown>>
    changes: Json<Record<string, [before: unknown, after: unknown]>> | null
    details: Json<Record<string, unknown>> | null
    actor_name_key: Derived<string | null>
    target_name_key: Derived<string | null>
  }
}
