import type { SiemConnectorKind, SiemFormat } from '@holdfast/contract/vocabulary'
import type { Destination } from '../../../db/tables/siem.ts'
import { decodeId } from '../../../kernel/ids.ts'
import { cef, json, ocsf, readEvent, type StoredEvent, type SyslogOrigin, syslog } from '../../audit/index.ts'
import { bomOf } from '../destination.ts'
import type { Encoded } from './sink.ts'

/** Limit of an OCSF event that includes its record: below the 256 KiB of a request with its envelope. */
const mostWithRecord = 200 * 1024
const formats: Readonly<Record<SiemFormat, (stored: StoredEvent) => string>> = {
  json,
  ocsf: (stored) => ocsf(stored, mostWithRecord),
  cef,
}

/** Encodes an event for this kind of connector. */
export function encode(
  { kind, format, destination }: { kind: SiemConnectorKind; format: SiemFormat; destination: Destination },
  stored: StoredEvent,
  origin: SyslogOrigin,
): Encoded {
  const event = readEvent(stored)
  const message = formats[format](stored)
  function textFor(): string {
    const bom = bomOf(kind, destination)
    if (bom === null) return format === 'cef' ? JSON.stringify(message) : message
    // Without a mark, CEF text has no declared encoding (MSG-ANY).
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
 * Rewrites JSON in ASCII (RFC 8259 §7), with an escape for each UTF-16 unit. A text that would grow beyond what
 * receivers accept stays in UTF-8, which JSON allows.
 */
function inAscii(json: string): string {
  const ascii = json.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return ascii.length <= mostWithRecord ? ascii : json
}

/** Returns the event's UUID. */
export const uuidOfEvent = ({ eventId }: Encoded): string => decodeId('audit_event', eventId) ?? ''
