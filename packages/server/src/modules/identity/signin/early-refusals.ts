import type { Source } from '../../../kernel/actor.ts'
import { sourceBlock } from '../../../kernel/cidr.ts'
import { createRepeatCounter } from '../../../kernel/repeat-counter.ts'
import { storable } from '../../../kernel/text.ts'
import type { Audit } from '../../audit/index.ts'
import type { Reason } from './sign-in-steps.ts'

/** Maximum of usernames in an event with a count. */
const mostUsernames = 20
const mostOfTenant = 1000

type Early = Source & { username: string; usernames: Set<string> }
type Refused = Early & { reason: Reason }

/**
 * Records attempts that end before the account is read: rate-limited ones, those of another site, and late codes. They
 * do not count against an account. Of each kind, address and minute the first is recorded at once, the others as a
 * count with some of their usernames.
 */
export function createEarlyRefusals({ audit, onError }: { audit: Pick<Audit, 'note'>; onError: (e: Error) => void }) {
  const merge = (held: Early, { usernames }: Early) => {
    for (const username of usernames) if (held.usernames.size < mostUsernames) held.usernames.add(username)
  }
  const anybody = { name: null, sourceIp: null, userAgent: null, requestId: null }
  const throttled = createRepeatCounter<Early>({
    onError,
    merge,
    mostOfTenant,
    keyOf: ({ tenantId, type, id, name }) => `${tenantId} ${type} ${id} ${name}`,
    overflow: (item) => ({ ...item, ...anybody }),
    record: ({ username: _, usernames, ...by }, refused) => {
      const details = { usernames: [...usernames] }
      return audit.note(by, 'auth.throttled', { credential: 'password', refused }, { outcome: 'refused', details })
    },
  })
  const refused = createRepeatCounter<Refused>({
    onError,
    merge,
    mostOfTenant,
    keyOf: ({ tenantId, reason, username, sourceIp }) =>
      `${tenantId} ${reason} ${sourceIp && sourceBlock(sourceIp)} ${username}`,
    overflow: (item) => ({ ...item, ...anybody, username: '' }),
    record: ({ username, usernames, reason, ...by }, count) => {
      const target = { type: 'user', id: null, name: username }
      const details = { refused: count, ...(usernames.size > 1 && { usernames: [...usernames] }) }
      const fields = { username, failure_reason: reason }
      return audit.note(by, 'login.failed', fields, { outcome: 'refused', target, details })
    },
  })
  const early = (by: Source, typed: string): Early => {
    const username = storable(typed, 256)
    return { ...by, username, usernames: new Set([username]) }
  }
  return {
    throttle: (by: Source, username: string) => throttled.count(early(by, username)),
    refuse: (by: Source, username: string, reason: Reason) => refused.count({ ...early(by, username), reason }),
    /** Writes counts that are still in memory; at stop. */
    flush: async (): Promise<void> => {
      await throttled.flush()
      await refused.flush()
    },
  }
}
