import type { ColumnType } from 'kysely'

export type Default<T> = ColumnType<T, T | undefined, T>
/** Read as what it holds, written as its text. */
export type Json<T> = ColumnType<T, string, string>
export type TextArray = Default<string[]>
export type UuidArray = Default<string[]>
/** Made by the database from other columns. */
export type Derived<T> = ColumnType<T, never, never>
