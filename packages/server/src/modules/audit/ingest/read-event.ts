import type { Contract, Given } from '@holdfast/contract'
import { reportedKinds } from '@holdfast/contract/audit-fields'
import type { Actor } from '../../../kernel/actor.ts'
import { canonicalAddress } from '../../../kernel/cidr.ts'
import { isInstant } from '../../../kernel/instant.ts'
import { isStorable } from '../../../kernel/text.ts'
import type { Arrival } from '../audit.queries.ts'
import { arrivalsOf, kept } from '../record.ts'

export type GivenEvent = Given<Contract['ingestAuditEvents']>['body']['events'][number]

/**
 * Reads the events of one report: each as it will be recorded, or the error. They are claims of the gateway. The
 * gateway is the actor; anything that it says about others is the target or a detail. The server sets the facts that it
 * observes itself (time, address, request).
 */
export function eventReader(actor: Actor<'gateway'>, received: Date): (e: GivenEvent) => Arrival | { error: string } {
  const arrivalOf = arrivalsOf(actor, received)
  return (e) => {
    const kind = reportedKinds.find((known) => known === e.kind)
    if (!kind) return { error: 'kind must be one that a gateway may report (gateway_report.*)' }
    if (!isInstant(e.at)) return { error: 'at is not a time (RFC 3339)' }
    const address = e.remote_ip === undefined ? undefined : canonicalAddress(e.remote_ip)
    if (e.remote_ip !== undefined && address === undefined) return { error: 'remote_ip is not an address' }
    if (!printable.test(e.event_id)) return { error: 'event_id must be printable ASCII without spaces' }
    if (!textsOf(e).every(isStorable)) return { error: 'a text contains the character NUL or half of a surrogate pair' }
    const fields = {
      gateway_id: actor.id ?? '',
      gateway_event_id: e.event_id,
      gateway_time: new Date(e.at).toISOString(),
      ...(address !== undefined && { remote_ip: address }),
    }
    return arrivalOf(kind, fields, {
      ...(e.outcome && { outcome: e.outcome }),
      ...(e.target && { target: { type: e.target.type, id: e.target.id ?? null, name: e.target.name ?? null } }),
      ...(e.details && { details: cut(e.details) }),
    })
  }
}

/** Sorted as the record sorts its members. */
function cut(details: NonNullable<GivenEvent['details']>) {
  const members: typeof details = {}
  for (const name of Object.keys(details).sort()) {
    const value = details[name]!
    members[name] = typeof value === 'string' ? kept(value) : value
  }
  return members
}

const textsOf = ({ target, details = {} }: GivenEvent) =>
  [target?.id, target?.name, ...Object.values(details)].filter((value) => typeof value === 'string')

const printable = /^[!-~]+$/
