import type { ViewList } from '@holdfast/contract/vocabulary'
import type { TenantId } from '../../kernel/actor.ts'
import type { Derived, Json } from './columns.ts'

export type ViewsTables = {
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
}
