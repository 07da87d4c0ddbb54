import {
  type ChangedKind,
  changedKindNames,
  eventPermissions,
  mostChangedIds,
  type StreamEvent,
  type StreamEventName,
} from '@holdfast/contract/stream'
import type { Permission } from '@holdfast/contract/vocabulary'
import type { ChangeBatch, Topic } from './batch.ts'

/** The lists and permissions of one stream. */
export type Scope = { kinds: ReadonlySet<ChangedKind>; permissions: ReadonlySet<Permission>; isFiltered: boolean }
type Unnumbered = { [K in StreamEventName]: Omit<Extract<StreamEvent, { event: K }>, 'id'> }[StreamEventName]

/**
 * The list that each event which is not a change of a list belongs to. A client that requested some lists gets the
 * event only with that list.
 */
const listOfEvent = { alert: 'notifications', run: 'runs', gateway: 'gateways', adoption: 'policy' } as const

/** Returns the events of a batch that the scope allows. */
export function eventsOf(batch: ChangeBatch, scope: Scope): Unnumbered[] {
  const events: Unnumbered[] = []
  const may = (event: keyof typeof eventPermissions): boolean =>
    scope.permissions.has(eventPermissions[event]) &&
    (!scope.isFiltered || (event !== 'audit' && scope.kinds.has(listOfEvent[event])))
  if (batch.isReset) events.push({ event: 'reset', data: {} })
  let left = mostChangedIds
  const take = (ids: ReadonlySet<string> | 'many' | undefined): { ids: string[]; many: boolean } => {
    if (ids === 'many' || (ids?.size ?? 0) > left) return { ids: [], many: true }
    left -= ids?.size ?? 0
    return { ids: [...(ids ?? [])], many: false }
  }
  const changes = changedKindNames.flatMap((kind) => {
    const ids = scope.kinds.has(kind) ? batch.of(kind) : undefined
    return ids === undefined ? [] : [{ kind, ...take(ids) }]
  })
  if (changes.length > 0) events.push({ event: 'changed', data: { changes } })
  // Each of these has a limit of its own, because they are few.
  const some = (topic: Topic) => {
    left = mostChangedIds
    return take(batch.ofTopic(topic))
  }
  const has = (topic: Topic) => batch.ofTopic(topic) !== undefined
  if (may('alert') && (has('raised') || has('ended'))) {
    const [raised, ended] = [some('raised'), some('ended')]
    events.push({ event: 'alert', data: { raised: raised.ids, ended: ended.ids, many: raised.many || ended.many } })
  }
  if (may('run') && has('run')) events.push({ event: 'run', data: some('run') })
  if (may('gateway') && has('gateway')) events.push({ event: 'gateway', data: some('gateway') })
  if (may('adoption') && has('adoption')) events.push({ event: 'adoption', data: {} })
  if (may('audit') && batch.auditSeq !== undefined) events.push({ event: 'audit', data: { seq: batch.auditSeq } })
  return events
}

const encoder = new TextEncoder()
/** Returns an event as text (HTML standard, "Server-sent events"). Data is JSON, which has no line break. */
export const streamText = ({ event, id, data }: Unnumbered & { id: string }): string =>
  `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`
/** Sets the delay after which a client reconnects. */
export const retryText = (ms: number): string => `retry: ${ms}\n\n`
/** A comment keeps the connection alive. The client stores the id of an empty event, and dispatches nothing. */
export const heartbeatText = (id: string): string => `:\nid: ${id}\n\n`
export const encodeText = (text: string): Uint8Array => encoder.encode(text)
