import { type AuditEvent, actorNameOf, ownFields, readEvent, type StoredEvent } from './event.ts'
import { type OcsfClass, ocsfActivityOf, ocsfClasses } from './ocsf-classes.ts'
import { printableJson } from './text.ts'

const ocsfVersion = '1.9.0'
const service = { name: 'holdfast' }
const product = { name: 'Holdfast', vendor_name: 'Holdfast' }
const statuses = {
  success: { status_id: 1, status: 'Success', severity_id: 1, severity: 'Informational' },
  refused: { status_id: 2, status: 'Failure', severity_id: 2, severity: 'Low' },
  failed: { status_id: 2, status: 'Failure', severity_id: 3, severity: 'Medium' },
} as const

/**
 * One OCSF 1.9.0 event as one line of JSON. `raw_data` is the hashed record, so that this format can be checked against
 * the hash chain too. An event that would exceed `mostBytes` with it goes without, since all its content appears twice.
 * `attestation_list` is left out: its fingerprint would cover the OCSF event, which is not signed.
 */
export function ocsf(stored: StoredEvent, mostBytes = Number.POSITIVE_INFINITY): string {
  const event = ocsfOf(stored)
  const text = written({ ...event, raw_data: stored.record })
  return Buffer.byteLength(text) <= mostBytes ? text : written(event)
}
const written = (event: object) => printableJson(JSON.stringify(event))

function ocsfOf(stored: StoredEvent) {
  const event = readEvent(stored)
  const eventFields = ownFields(event)
  const activity = ocsfActivityOf(event.kind, eventFields)
  const { uid, caption } = ocsfClasses[activity.of]
  const { actor, details } = event
  return {
    class_uid: uid,
    class_name: caption,
    ...(uid < 6000
      ? { category_uid: 3, category_name: 'Identity & Access Management' }
      : { category_uid: 6, category_name: 'Application Activity' }),
    activity_id: activity.id,
    activity_name: activity.caption,
    type_uid: uid * 100 + activity.id,
    type_name: `${caption}: ${activity.caption}`,
    time: Date.parse(event.timestamp),
    ...statuses[event.outcome],
    ...(typeof details?.error === 'string' && { status_code: details.error }),
    ...(typeof details?.detail === 'string' && { status_detail: details.detail }),
    message: event.kind,
    metadata: {
      version: ocsfVersion,
      product,
      uid: event.event_id,
      sequence: event.seq,
      event_code: event.kind,
      log_name: 'audit',
      tenant_uid: event.tenant_id,
      ...(event.request_id !== null && { correlation_uid: event.request_id }),
    },
    actor: actorOf(actor),
    ...(event.source_ip !== null && { src_endpoint: { ip: event.source_ip } }),
    ...(event.user_agent !== null && { http_request: { user_agent: event.user_agent } }),
    ...ofClass[activity.of](event, eventFields),
    unmapped: {
      hash: event.hash,
      origin: event.origin,
      ...eventFields,
      ...optional({ changes: event.changes, details }),
    },
  }
}

/** Principals that sign in are users. A job is an application. */
function actorOf(actor: AuditEvent['actor']) {
  if (actor.type === 'job') return { app_name: actorNameOf(actor), ...optional({ app_uid: actor.id }) }
  return { user: principal(actor) }
}
const userTypes: Readonly<Record<string, number>> = { session: 1, api_key: 4 }
function principal(who: AuditEvent['actor']) {
  const type_id = userTypes[who.type]
  return { ...party(who), ...(type_id === undefined ? { type_id: 99, type: who.type } : { type_id }) }
}
const party = (who: AuditEvent['actor']) => ({ name: actorNameOf(who), ...optional({ uid: who.id }) })
const optional = <T extends Record<string, unknown>>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null))

const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
/** The affected user: the target, or the user named by the fields of the kind. A key without owner is its own user. */
function userOf({ actor, target }: AuditEvent, { user_id, username }: Record<string, unknown>) {
  if (target?.type === 'user') return party(target)
  const named = optional({ name: text(username), uid: text(user_id) })
  return Object.keys(named).length > 0 ? named : principal(target ?? actor)
}
/** An API key is a credential of the user whose permissions limit it. */
const credentialOf = ({ key_id }: Record<string, unknown>) =>
  typeof key_id === 'string' && { programmatic_credentials: [{ uid: key_id, type: 'API Key' }] }

/** Additional fields of each class. */
const ofClass: Record<OcsfClass, (event: AuditEvent, eventFields: Record<string, unknown>) => object> = {
  authentication: (event, eventFields) => ({
    user: userOf(event, eventFields),
    service,
    is_remote: true,
    ...(typeof eventFields.session_id === 'string' && { session: { uid: eventFields.session_id } }),
    ...optional({ status_detail: text(eventFields.failure_reason) ?? text(eventFields.reason) }),
  }),
  user: (event, eventFields) => ({
    user: { ...userOf(event, eventFields), ...credentialOf(eventFields) },
    ...(typeof eventFields.role === 'string' &&
      event.kind.startsWith('role.') && { iam_roles: [{ name: eventFields.role }] }),
  }),
  group: ({ target }, { group_id }) => ({ group: target ? party(target) : { uid: text(group_id) ?? '' } }),
  entity: ({ kind, target }) => ({
    entity: target ? { ...party(target), type: target.type } : { name: kind.split('.')[0], type: kind.split('.')[0] },
  }),
  api: ({ source_ip, kind }, { endpoint, operation }) => ({
    api: { operation: text(endpoint) ?? text(operation) ?? kind, service },
    src_endpoint: source_ip === null ? service : { ip: source_ip },
  }),
}
