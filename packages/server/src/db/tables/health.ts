import type { Default } from './columns.ts'

export type HealthTables = {
  replicas: { replica_id: string; seen_at: Date }
  listening: { there_is_one: Default<boolean>; since: Date; heard_at: Date }
}
