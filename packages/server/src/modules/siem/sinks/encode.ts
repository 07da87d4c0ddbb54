import type { SiemConnectorKind, SiemFormat } from '@holdfast/contract/vocabulary'
import { decodeId } from '../../../kernel/ids.ts'
import { cef, json, ocsf, readEvent, type Stored, type SyslogOrigin, syslog } from '../../audit/index.ts'
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
  { kind, format }: { kind: SiemConnectorKind; format: SiemFormat },
  stored: Stored,
  origin: SyslogOrigin,
): Encoded {
  const event = readEvent(stored)
  const message = formats[format](stored)
  const isSyslog = kind === 'syslog_tls' || kind === 'syslog_tcp'
  return {
    seq: stored.seq,
    eventId: event.event_id,
    kind: event.kind,
    at: new Date(event.timestamp),
    text: isSyslog ? syslog(stored, origin, message) : format === 'cef' ? JSON.stringify(message) : message,
  }
}

/** The event's UUID. */
export const uuidOf = ({ eventId }: Encoded): string => decodeId('audit_event', eventId) ?? ''
