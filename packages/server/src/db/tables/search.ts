import type { TenantId } from '../../kernel/actor.ts'

export type SearchTables = {
  /** Search index. Triggers of the tables with the names maintain it. */
  search_words: { tenant_id: TenantId; kind: string; place: 0 | 1; word: string; subject_id: string }
}
