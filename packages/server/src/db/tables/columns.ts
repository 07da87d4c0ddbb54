import type { ColumnType } from 'kysely'

export type Default<T> = ColumnType<T, T | undefined, T>
/** A JSON column: read as its value, written as text. */
export type Json<T> = ColumnType<T, string, string>
export type TextArray = Default<string[]>
export type UuidArray = Default<string[]>
/** A column that the database derives from other columns. */
export type Derived<T> = ColumnType<T, never, never>
/** The actor of a change, as in audit events. */
export type StoredParty = { type: string; id: string | null; name: string | null }
