import { type RawBuilder, type Selectable, type SqlBool, sql, type UpdateQueryBuilder, type UpdateResult } from 'kysely'
import { newUuid } from '../kernel/ids.ts'
import { affectedRow } from './affected-row.ts'
import type { Tables } from './tables/index.ts'
import type { Tx } from './transaction.ts'

type Row<T extends keyof Tables> = Selectable<Tables[T]>
type ColumnOf<T extends keyof Tables> = keyof Row<T> & string

/**
 * The lease on a row: two columns, its holder and its end. A replica takes it for `ms`, works outside of any
 * transaction, and stores each result by an UPDATE under the lease (`held`). Once another replica has taken it, the
 * former holder changes nothing.
 *
 * Times are the database's. `at` is the time of the application, whose clock follows the database's
 * (`replication/clock.ts`); without it, the statement reads the clock. One table uses one of the two.
 *
 * The holder is a new id each time. It may also be a counter, which a statement of the module raises; `take` is not
 * there for those.
 *
 * @param open values that the row has while it is not finished.
 */
export function leaseOf<T extends keyof Tables, K extends ColumnOf<T>, H extends ColumnOf<T>, U extends ColumnOf<T>>(
  table: T,
  { key, holder, until, ms, open }: { key: readonly K[]; holder: H; until: U; ms: number; open: Partial<Row<T>> },
) {
  type Key = Pick<Row<T>, K>
  type Held = Key & { [C in H]: NonNullable<Row<T>[C]> }
  const is = (column: string, value: unknown) => sql<SqlBool>`${sql.ref(column)} = ${value}`
  const rowOf = (tx: Tx, row: Key) => {
    let q = tx.updateTable(table as never) as unknown as UpdateQueryBuilder<Tables, T, T, UpdateResult>
    for (const column of key) q = q.where(is(column, row[column]))
    for (const [column, value] of Object.entries(open)) q = q.where(is(column, value))
    return q
  }
  const after = (at: Date | undefined, wait: number) =>
    at ? sql<Date>`${new Date(at.getTime() + wait)}` : sql<Date>`clock_timestamp() + ${wait} * interval '1 millisecond'`
  const held = (tx: Tx, row: Held) => rowOf(tx, row).where(is(holder, row[holder]))
  /** Columns that extend the lease. `wait`: until this time from now, in ms. */
  const renewed = (at?: Date, wait = ms) => ({ [until]: after(at, wait) }) as { [C in U]: RawBuilder<Date> }
  /** Columns that end the lease. `wait`: nobody takes it for this time, in ms. */
  const released = (at?: Date, wait = 0) =>
    ({ [holder]: null, ...renewed(at, wait) }) as ReturnType<typeof renewed> & { [C in H]: null }

  const set = (tx: Tx, row: Held, columns: object): Promise<boolean> =>
    affectedRow(
      held(tx, row)
        .set(columns as never)
        .returning(sql`1`.as('held')),
    )

  return {
    /** Takes the lease if nobody has it. Of concurrent callers exactly one gets the row. */
    take: (tx: Tx, row: string extends Row<T>[H] ? Key : never, at?: Date) =>
      rowOf(tx, row)
        .set({ [holder]: newUuid(), ...renewed(at) } as never)
        .where(sql<SqlBool>`(${sql.ref(until)} is null or ${sql.ref(until)} <= ${after(at, 0)})`),
    /** Matches the row only for the holder of its lease. Every result of the work is stored so. */
    held,
    renewed,
    released,
    /** False if the row is finished, or somebody else has taken the lease. */
    renew: (tx: Tx, row: Held, at?: Date, wait?: number) => set(tx, row, renewed(at, wait)),
    release: (tx: Tx, row: Held, at?: Date, wait?: number) => set(tx, row, released(at, wait)),
  }
}
