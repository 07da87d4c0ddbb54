import type { Default } from './columns.ts'

export type SecretsTables = {
  master_keys: {
    version: number
    key_id: string
    pepper_jwe: string | null
    first_seen_at: Default<Date>
    written_at: Date | null
    unused_since: Date | null
    sealed: number | null
    digests: number | null
    counted_at: Date | null
  }
}
