import { type AuditEvent, readEvent, type StoredEvent } from './event.ts'
import { escapedJson, printable, printableJson } from './text.ts'

const columns: readonly (readonly [name: string, of: (event: AuditEvent) => string | null | undefined])[] = [
  ['seq', (e) => String(e.seq)],
  ['timestamp', (e) => e.timestamp],
  ['kind', (e) => e.kind],
  ['outcome', (e) => e.outcome],
  ['actor_type', (e) => e.actor.type],
  ['actor_id', (e) => e.actor.id],
  ['actor_name', (e) => e.actor.name],
  ['target_type', (e) => e.target?.type],
  ['target_id', (e) => e.target?.id],
  ['target_name', (e) => e.target?.name],
  ['source_ip', (e) => e.source_ip],
  ['user_agent', (e) => e.user_agent],
  ['request_id', (e) => e.request_id],
  ['origin', (e) => e.origin],
  ['event_id', (e) => e.event_id],
  ['tenant_id', (e) => e.tenant_id],
  ['hash', (e) => e.hash],
  ['operation', (e) => own(e, 'operation')],
  ['username', (e) => own(e, 'username')],
  ['reason', (e) => own(e, 'reason') ?? own(e, 'failure_reason')],
  ['endpoint', (e) => own(e, 'endpoint')],
  ['key_id', (e) => own(e, 'key_id')],
]

/** A field declared by the kind of the event, if it is a string. */
function own(event: AuditEvent, name: string): string | undefined {
  const value = (event as Readonly<Record<string, unknown>>)[name]
  return typeof value === 'string' ? value : undefined
}

/** A line of RFC 4180 with its line end. Every cell is quoted. */
const line = (cells: readonly string[]) => `${cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')}\r\n`

export const csvHeader = line([...columns.map(([name]) => name), 'record'])

/**
 * The columns are for display: text that a spreadsheet would take for a formula is prefixed with an apostrophe. The
 * last column, `record`, is the hashed text, as JSON of the same value.
 */
export function csv(stored: StoredEvent): string {
  const event = readEvent(stored)
  return line([...columns.map(([, of]) => shown(of(event) ?? '')), shownJson(stored.record)])
}

/**
 * A spreadsheet evaluates text that begins with one of these signs, also in full width, and sometimes after blanks or
 * quotes.
 */
const formula = `[\\s"'\\p{Cf}\\ufffd]*[=+\\-@\\uff1d\\uff0b\\uff0d\\uff20]`
const begins = new RegExp(`^(?=${formula})`, 'u')
/**
 * If the reader's list separator is not the comma, quotes do not protect a cell, and a new one may begin after these
 * signs.
 */
const beginsWithin = new RegExp(`([;,])(?=${formula})`, 'gu')
/** Most cells match this, which costs a tenth of the full check. */
const isPlain = /^[0-9A-Za-z][^;,]*$/
function shown(text: string): string {
  const seen = printable(text)
  return isPlain.test(seen) ? seen : seen.replace(begins, "'").replaceAll(beginsWithin, "$1'")
}

/** JSON begins with a brace. A semicolon occurs only in strings, where it can be escaped. */
const semicolon = new RegExp(`;(?=${formula})`, 'gu')
/** Longest cell in Excel. Longer text continues in further cells, split at any position. */
const longestCell = 32_767
const texts = /"(?:[^"\\]|\\.)*"/g
const formulaSign = /[=+\-@\uff1d\uff0b\uff0d\uff20]/g
function shownJson(json: string): string {
  const shown = printableJson(json).replaceAll(semicolon, '\\u003b')
  return shown.length > longestCell
    ? shown.replaceAll(texts, (text) => text.replaceAll(formulaSign, escapedJson))
    : shown
}
