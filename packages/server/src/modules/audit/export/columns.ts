import { auditHash, canonicalJson, noHash } from '@holdfast/crypto'
import type { Selectable } from 'kysely'
import type { Tables } from '../../../db/tables/index.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { BrokenPlace } from './broken-off.ts'

export type AuditExportRow = Omit<Selectable<Tables['audit_log']>, 'tenant_id' | 'sequenced_at'>
type Named = { id?: unknown; name?: unknown } | null
type Said = Readonly<Record<string, unknown>> & { actor?: Named; target?: Named }

/**
 * Checks that the search columns of a row and the formatting of its text match the record. No hash covers them, but
 * searches use them. `before` is the previous row, if any. Throws `BrokenPlace`.
 */
export function requireAsRecorded(row: AuditExportRow, before: Pick<AuditExportRow, 'seq' | 'hash'> | undefined): void {
  const { seq, record } = row
  if (before?.seq === seq) throw new BrokenPlace(seq, 'two events have this sequence number')
  const recorded = read(row)
  const column = otherColumn(row, recorded)
  if (column !== undefined) throw new BrokenPlace(seq, `its column ${column} differs from the recorded event`)
  if (JSON.stringify(recorded) === record || canonical(recorded) === record) return
  // Records from before the hash chain may be formatted differently. Their hash was made of that text.
  const known = seq === 1 ? noHash : before?.seq === seq - 1 ? before.hash : undefined
  if (known && !auditHash(known, seq, record).equals(row.hash))
    throw new BrokenPlace(seq, 'its hash does not match the recorded event')
}

function read({ seq, record }: AuditExportRow): Said {
  const event = parsed(record)
  if (typeof event !== 'object' || event === null) throw new BrokenPlace(seq, 'the recorded text is not an event')
  return event as Said
}
function parsed(record: string): unknown {
  try {
    return JSON.parse(record)
  } catch {
    return undefined
  }
}
/** Undefined for values that have no canonical form: nested too deep, or with half of a surrogate pair. */
function canonical(recorded: Said): string | undefined {
  try {
    return canonicalJson(recorded)
  } catch {
    return undefined
  }
}

/** Returns the first column that differs from the record. */
function otherColumn(row: AuditExportRow, recorded: Said): keyof AuditExportRow | undefined {
  const { actor, target } = recorded
  if (recorded.event_id !== encodeId('audit_event', row.event_id)) return 'event_id'
  if (Date.parse(String(recorded.timestamp)) !== Number(row.at)) return 'at'
  for (const name of plain) if ((recorded[name] ?? null) !== row[name]) return name
  if ((actor?.id ?? null) !== row.actor_id) return 'actor_id'
  if ((target?.id ?? null) !== row.target_id) return 'target_id'
  if (!isKeyOf(row.actor_name_key, actor?.name ?? null)) return 'actor_name_key'
  return isKeyOf(row.target_name_key, target?.name ?? null) ? undefined : 'target_name_key'
}
const plain = ['kind', 'outcome', 'source_ip', 'request_id'] as const

/** The database made the key with the lower-case rules of its locale, which may differ from these. */
const isKeyOf = (key: string | null, name: unknown): boolean =>
  key === name ||
  (key !== null && typeof name === 'string' && (key === name.toLowerCase() || folded(key) === folded(name)))
const folded = (name: string): string => name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase().toUpperCase()
