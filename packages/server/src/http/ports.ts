import type { AuditFields, AuditKind } from '@holdfast/contract/vocabulary'
import type { Principal, Source } from '../kernel/actor.ts'
import type { RateLimit } from '../kernel/rate-limit.ts'

/**
 * Functions of modules that the request pipeline needs. The composition root passes them, so that `http/` imports no
 * module.
 */

export type AuditPort = {
  /** Records an event without a change. Resolves once it is durable. */
  note: <K extends AuditKind>(
    source: Source,
    kind: K,
    fields: AuditFields[K],
    more?: { outcome?: 'refused'; details?: Record<string, unknown> },
  ) => Promise<void>
}

/** Credentials whose requests are counted per credential. */
type Counted = Principal<'session' | 'api_key' | 'gateway'>
export type RatesPort = {
  /** Counts a request. Returns the seconds to wait; 0 if it is allowed. */
  take: (credential: Counted) => number | Promise<number>
  /** Undefined while the tenant's settings are not loaded. */
  limitOf: (credential: Counted) => RateLimit | undefined
}
