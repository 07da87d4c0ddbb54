import type { Noun } from '@holdfast/contract/vocabulary'
import { failField } from '../../../kernel/app-error.ts'
import { decodeId } from '../../../kernel/ids.ts'

/**
 * Wire ids of a body → UUIDs in the same order. `exist` says which of them are rows of the tenant; the first that is
 * not is refused by its place, whether it is malformed, unknown or of another tenant.
 */
export async function resolveIds(
  noun: Noun,
  field: string,
  wire: readonly string[],
  exist: (uuids: string[]) => Promise<ReadonlySet<string>>,
): Promise<string[]> {
  if (wire.length === 0) return []
  const uuids = wire.map((text) => decodeId(noun, text))
  const found = await exist(uuids.filter((id) => id !== undefined))
  return uuids.map((id, i) =>
    id !== undefined && found.has(id) ? id : failField(`${field}[${i}]`, `no such ${noun.replace('_', ' ')}`),
  )
}
