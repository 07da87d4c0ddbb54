import type { SiemConnectorKind, SiemFormat } from '@holdfast/contract/vocabulary'
import type { Destination } from '../../../db/tables/siem.ts'
import { decodeId } from '../../../kernel/ids.ts'
import { cef, json, ocsf, readEvent, type Stored, type SyslogOrigin, syslog } from '../../audit/index.ts'
import { bomOf } from '../destination.ts'
import type { Encoded } from './sink.ts'

/** Of an event of OCSF with its record in it: below the 256 KiB of a request, with what stands around it there. */
const mostWithRecord = 200 * 1024
const formats: Readonly<Record<SiemFormat, (stored: Stored) => string>> = {
  json,
  ocsf: (stored) => ocsf(stored, mostWithRecord),
  cef,
}

/** An event as this kind of connector sends it. */
export function encode(
  { kind, format, destination }: { kind: SiemConnectorKind; format: SiemFormat; destination: Destination },
  stored: Stored,
  origin: SyslogOrigin,
): Encoded {
  const event = readEvent(stored)
  const message = formats[format](stored)
  function textFor(): string {
    const bom = bomOf(kind, destination)
    if (bom === null) return format === 'cef' ? JSON.stringify(message) : message
    // Without a mark the text of CEF is one of which nobody says how it is encoded (MSG-ANY).
    return syslog(stored, origin, { message: bom || format === 'cef' ? message : inAscii(message), bom })
  }
  return {
    seq: stored.seq,
    eventId: event.event_id,
    kind: event.kind,
    at: new Date(event.timestamp),
    text: textFor(),
  }
}

/**
 * JSON that says the same in ASCII (RFC 8259 §7), with an escape for each unit of UTF-16. A text that would grow beyond
 * what receivers take stays in UTF-8, as JSON is anyway.
 */
function inAscii(json: string): string {
  const ascii = json.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return ascii.length <= mostWithRecord ? ascii : json
}

/** The event's UUID. */
export const uuidOf = ({ eventId }: Encoded): string => decodeId('audit_event', eventId) ?? ''
