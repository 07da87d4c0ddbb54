import { isIP } from 'node:net'
import { type AuditEvent, actorNameOf, ownFields, readEvent, type StoredEvent } from './event.ts'
import { printable } from './text.ts'

/** Version of the field semantics, not of the program. */
const deviceVersion = '1'
/** On a scale of 10. */
const severities = { success: 3, refused: 6, failed: 8 } as const

/** One line of the Common Event Format, version 0. Fields without a CEF key are JSON in `cs5` and `cs6`. */
export function cef(stored: StoredEvent): string {
  const event = readEvent(stored)
  const head = ['CEF:0', 'Holdfast', 'Holdfast', deviceVersion, event.kind, event.kind.replaceAll(/[._]/g, ' ')]
  return `${[...head, String(severities[event.outcome])].map(inHeader).join('|')}|${extension(event)}`
}

function extension(event: AuditEvent): string {
  const { actor, target, source_ip, changes, details } = event
  const pairs: Record<string, string | null | undefined> = {
    rt: String(Date.parse(event.timestamp)),
    externalId: event.event_id,
    outcome: event.outcome,
    ...addressOf(source_ip),
    suser: actorNameOf(actor),
    suid: actor.id,
    spriv: actor.type,
    duser: target && actorNameOf(target),
    duid: target?.id,
    requestClientApplication: event.user_agent,
    deviceFacility: event.origin,
    reason: typeof details?.error === 'string' ? details.error : undefined,
    ...labelled('cn1', 'seq', String(event.seq)),
    ...labelled('cs1', 'hash', event.hash),
    ...labelled('cs2', 'tenant_id', event.tenant_id),
    ...labelled('cs3', 'request_id', event.request_id),
    ...labelled('cs4', 'target_type', target?.type),
    ...labelled('cs5', 'changes', changes && JSON.stringify(changes)),
    ...labelled('cs6', 'fields', JSON.stringify({ ...ownFields(event), ...(details && { details }) })),
  }
  return Object.entries(pairs)
    .flatMap(([key, value]) => (value === null || value === undefined ? [] : [`${key}=${inExtension(value)}`]))
    .join(' ')
}

/** `src` takes only IPv4. */
function addressOf(ip: string | null): Record<string, string> {
  if (ip === null) return {}
  return isIP(ip) === 4 ? { src: ip } : labelled('c6a2', 'Source IPv6 Address', ip)
}
function labelled(key: string, label: string, value: string | null | undefined): Record<string, string> {
  return value === null || value === undefined ? {} : { [key]: value, [`${key}Label`]: label }
}

const inHeader = (text: string) => printable(text).replaceAll(/[\\|]/g, (c) => `\\${c}`)
const inExtension = (text: string) => printable(text).replaceAll(/[\\=]/g, (c) => `\\${c}`)
