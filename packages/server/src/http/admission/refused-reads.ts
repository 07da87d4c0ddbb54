import { contract, type Operation } from '@holdfast/contract'
import type { AuditFields, ErrorCode } from '@holdfast/contract/vocabulary'
import type { Actor, Source } from '../../kernel/actor.ts'
import type { AppError } from '../../kernel/app-error.ts'
import { createRepeatCounter } from '../../kernel/repeat-counter.ts'
import { storable } from '../../kernel/text.ts'
import type { AuditPort } from '../ports.ts'

/** Limit per tenant, replica and minute. Further callers, operations and error codes share an event. */
const mostOfTenant = 1000
const mostAddresses = 8

type RefusedRead = Source & {
  operation: Operation
  error: ErrorCode
  detail: string
  firstAt: Date
  lastAt: Date
  addresses: Set<string>
}

/** Returns the fields of the event `request.refused`. */
export const refusedFields = (operation: Operation, error: ErrorCode): AuditFields['request.refused'] => {
  const { method, path } = contract[operation]
  return { operation, endpoint: `${method} ${path}`, reason: error }
}

/**
 * Records refused reads and throttled requests, which a caller can repeat at no cost. The first per minute of each
 * caller, operation and error code is recorded before its response, the others with their count at the end of the
 * minute. So the number of events is limited, and the first refusal of each kind is in the audit log before its
 * response.
 */
export function createRefusedReads({
  audit,
  now,
  onError,
}: {
  audit: AuditPort
  now: () => Date
  onError: (e: Error) => void
}) {
  const tally = createRepeatCounter<RefusedRead>({
    keyOf: ({ tenantId, type, id, operation, error }) => `${tenantId} ${type} ${id} ${operation} ${error}`,
    record: (refusal, count) => note(audit, refusal, count),
    onError,
    mostOfTenant,
    overflow: (refusal) => ({ ...refusal, id: null, name: null, sourceIp: null, userAgent: null, requestId: null }),
    merge: (held, { firstAt, lastAt, addresses }) => {
      if (firstAt < held.firstAt) held.firstAt = firstAt
      if (lastAt > held.lastAt) held.lastAt = lastAt
      for (const address of addresses) if (held.addresses.size < mostAddresses) held.addresses.add(address)
    },
  })
  return {
    record: (actor: Actor, operation: Operation, error: AppError): Promise<void> => {
      const at = now()
      const { principal, ...source } = actor
      // Anybody can get any number of challenges, so throttled ones share an event.
      const isShared = principal.kind === 'enrollment_challenge' && error.code === 'rate_limited'
      return tally.count({
        ...source,
        ...(isShared && { id: null, name: null }),
        operation,
        error: error.code,
        detail: storable(error.message, 512),
        firstAt: at,
        lastAt: at,
        addresses: new Set([actor.sourceIp]),
      })
    },
    /** Records all present counts, at a stop. */
    flush: tally.flush,
  }
}

function note(audit: AuditPort, refusal: RefusedRead, refused: number): Promise<void> {
  const { operation, error, detail, firstAt, lastAt, addresses, ...source } = refusal
  const details = {
    error,
    detail,
    refused,
    first_at: firstAt.toISOString(),
    last_at: lastAt.toISOString(),
    ...((addresses.size > 1 || source.id === null) && { source_ips: [...addresses] }),
  }
  return audit.note(source, 'request.refused', refusedFields(operation, error), { outcome: 'refused', details })
}
