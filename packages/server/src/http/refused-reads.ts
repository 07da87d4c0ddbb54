import type { Operation } from '@holdfast/contract'
import type { ErrorCode } from '@holdfast/contract/vocabulary'
import type { Actor, Source } from '../kernel/actor.ts'
import type { AppError } from '../kernel/app-error.ts'
import { createTally } from '../kernel/tally.ts'
import { storable } from '../kernel/text.ts'
import type { Audit } from '../modules/audit/index.ts'
import { refusedFields } from './refused-fields.ts'

/** Per tenant and replica: more callers, operations and error codes than this in a minute share an event. */
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

/**
 * Records refused reads and throttled requests, which cost a caller nothing to repeat. Of each caller, operation and
 * error code, the first of a minute is recorded before its answer, the others with their count when the minute is over.
 * So a caller can't write without bound, and a refusal of each kind is on record once it was answered.
 */
export function createRefusedReads({
  audit,
  now,
  onError,
}: {
  audit: Pick<Audit, 'note'>
  now: () => Date
  onError: (e: Error) => void
}) {
  const tally = createTally<RefusedRead>({
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
      // Anybody gets as many challenges as they ask for, so throttled ones share an event.
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
    /** Writes what was only counted so far; at stop. */
    flush: tally.flush,
  }
}

function note(audit: Pick<Audit, 'note'>, refusal: RefusedRead, refused: number): Promise<void> {
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
