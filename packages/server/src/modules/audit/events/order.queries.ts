import { sql } from 'kysely'
import type { ListPlace } from '../../../db/page.ts'

export type Order = { by: 'timestamp' | 'seq'; descending: boolean }

/** Compares in the order of the list: `>` means after the position, `<=` up to it. */
export function comparePlace({ by, descending }: Order, operator: '>' | '<=', [key, tie]: ListPlace) {
  const as = sql.raw(descending ? { '>': '<', '<=': '>=' }[operator] : operator)
  return by === 'seq'
    ? sql<boolean>`seq ${as} cast(${key} as bigint)`
    : sql<boolean>`(at, event_id) ${as} (cast(${key} as timestamptz), cast(${tie} as uuid))`
}
export const orderBy = ({ by, descending }: Order) => {
  const direction = sql.raw(descending ? 'desc' : 'asc')
  return by === 'seq' ? sql`seq ${direction}` : sql`at ${direction}, event_id ${direction}`
}
