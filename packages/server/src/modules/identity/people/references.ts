import type { Noun } from '@holdfast/contract/vocabulary'
import { failField } from '../../../kernel/app-error.ts'
import { decodeId } from '../../../kernel/ids.ts'

const unknown = (noun: Noun, field: string, place: number) =>
  failField(`${field}[${place}]`, `no such ${noun.replaceAll('_', ' ')}`)

/** Converts wire ids of a body to UUIDs in the same order. The first id of another kind is refused by its position. */
export const decodeIds = (noun: Noun, field: string, wire: readonly string[]): string[] =>
  wire.map((text, i) => decodeId(noun, text) ?? unknown(noun, field, i))

/** `exist` returns those ids that are rows of the tenant. The first missing one is refused by its position. */
export async function requireAll(
  noun: Noun,
  field: string,
  ids: readonly string[],
  exist: (ids: readonly string[]) => Promise<ReadonlySet<string>>,
): Promise<void> {
  if (ids.length === 0) return
  const found = await exist(ids)
  const missing = ids.findIndex((id) => !found.has(id))
  if (missing >= 0) unknown(noun, field, missing)
}
