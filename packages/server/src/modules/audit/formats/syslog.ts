import { type AuditEvent, actorNameOf, readEvent, type StoredEvent } from './event.ts'
import { json } from './json.ts'
import { printable } from './text.ts'

/** authpriv (RFC 5424 §6.2.1). */
const facility = 10
const severities = { success: 6, refused: 4, failed: 3 } as const

export type SyslogOrigin = {
  /** Host name of the sender. */
  hostname: string
  /** Private enterprise number in the name of the structured data (RFC 5424 §7.2.2). */
  enterprise: number
}

const exampleEnterprise = 32473
/** An OID arc that is not below a private enterprise number has none. The example number (RFC 5612) is used then. */
export const syslogOriginOf = ({ publicUrl, oidArc }: { publicUrl: string; oidArc: string }): SyslogOrigin => ({
  // RFC 5424 §6.2.4 requires IPv6 addresses without the brackets of URLs.
  hostname: new URL(publicUrl).hostname.replace(/^\[(.*)\]$/, '$1'),
  enterprise: Number(/^1\.3\.6\.1\.4\.1\.(\d+)/.exec(oidArc)?.[1] ?? exampleEnterprise),
})

/**
 * One RFC 5424 message, without framing and without any line feed. The text is UTF-8 with a BOM (§6.4) unless `bom` is
 * false. It is the event as JSON, unless another `message` is given, such as CEF.
 */
export function syslog(
  stored: StoredEvent,
  { hostname, enterprise }: SyslogOrigin,
  { message = json(stored), bom = true }: { message?: string; bom?: boolean } = {},
): string {
  const event = readEvent(stored)
  const priority = facility * 8 + severities[event.outcome]
  const header = `<${priority}>1 ${event.timestamp} ${token(hostname, 255)} holdfast - ${token(event.kind, 32)}`
  return `${header} [audit@${enterprise}${parameters(event)}] ${bom ? '\ufeff' : ''}${message}`
}

/** Octet counting of RFC 6587 §3.4.1 and RFC 5425 §4.3: the number of bytes comes first. */
export const octetCounted = (message: string): string => `${Buffer.byteLength(message)} ${message}`

function parameters(event: AuditEvent): string {
  const { seq, hash, event_id, tenant_id, kind, outcome, actor, target, source_ip, request_id } = event
  const named = {
    // MSGID cuts long kinds, so `kind` is a parameter too.
    seq: String(seq),
    hash,
    event_id,
    tenant_id,
    kind,
    outcome,
    actor: actorNameOf(actor),
    target: target && actorNameOf(target),
    source_ip,
    request_id,
  }
  return Object.entries(named)
    .map(([name, value]) => (value === null ? '' : ` ${name}="${escaped(value)}"`))
    .join('')
}

/** RFC 5424 §6.3.3. */
const escaped = (value: string) => printable(value).replaceAll(/["\\\]]/g, (c) => `\\${c}`)

/** PRINTUSASCII without spaces (RFC 5424 §6), cut at `longest` characters. The nil value if nothing is left. */
const token = (text: string, longest: number) => text.replaceAll(/[^!-~]/g, '').slice(0, longest) || '-'
