import { type Event, readEvent, type Stored } from './event.ts'
import { escapedJson, printable, printableJson } from './text.ts'

const columns: readonly (readonly [name: string, of: (event: Event) => string | null | undefined])[] = [
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

/** A field that the kind of an event declares, where it is one text. */
function own(event: Event, name: string): string | undefined {
  const value = (event as Readonly<Record<string, unknown>>)[name]
  return typeof value === 'string' ? value : undefined
}

/** A line of RFC 4180 with its end, every cell quoted. */
const line = (cells: readonly string[]) => `${cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')}\r\n`

export const csvHeader = line([...columns.map(([name]) => name), 'record'])

/**
 * The columns are for eyes: what a spreadsheet would take for a formula has an apostrophe in front. The last one,
 * `record`, is the text that was hashed, as JSON of the same value.
 */
export function csv(stored: Stored): string {
  const event = readEvent(stored)
  return line([...columns.map(([, of]) => shown(of(event) ?? '')), shownJson(stored.record)])
}

/** A spreadsheet computes what begins with one of these, also full-width, and some after blanks or quotes. */
const formula = `[\\s"'\\p{Cf}\\ufffd]*[=+\\-@\\uff1d\\uff0b\\uff0d\\uff20]`
const begins = new RegExp(`^(?=${formula})`, 'u')
/** Where the list separator of the reader is a semicolon or a tab, a cell begins there too. */
const beginsWithin = new RegExp(`([;,])(?=${formula})`, 'gu')
/** Most cells are nothing of the kind, which costs a tenth to see. */
const isPlain = /^[0-9A-Za-z][^;,]*$/
function shown(text: string): string {
  const seen = printable(text)
  return isPlain.test(seen) ? seen : seen.replace(begins, "'").replaceAll(beginsWithin, "$1'")
}

/** JSON begins with a brace. A semicolon stands in texts alone, which may escape it. */
const semicolon = new RegExp(`;(?=${formula})`, 'gu')
/** What Excel holds in one cell; what is beyond begins cells of its own, wherever that is. */
const longestCell = 32_767
const texts = /"(?:[^"\\]|\\.)*"/g
const formulaSign = /[=+\-@\uff1d\uff0b\uff0d\uff20]/g
function shownJson(json: string): string {
  const shown = printableJson(json).replaceAll(semicolon, '\\u003b')
  return shown.length > longestCell
    ? shown.replaceAll(texts, (text) => text.replaceAll(formulaSign, escapedJson))
    : shown
}
