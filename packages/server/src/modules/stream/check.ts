import { minute, second } from '../../kernel/time.ts'
import type { StreamDeps } from './deps.ts'
import type { OpenStream } from './open-stream.ts'

/** A session is warned so long before it ends. */
const warnedBeforeMs = 2 * minute
/** Whether a session was prolonged after the warning is looked at so often, in memory. */
const lookAgainMs = 2 * second
/** An API key may run out at any time. */
const keyEveryMs = second

/**
 * Judges the credential of a stream anew: at a change of what it rests on, and when its time may be over. Until it is
 * judged the stream sends nothing.
 */
export function createCheck({ db, now, statusOf, idleExpiresAt }: StreamDeps) {
  async function judge(stream: OpenStream): Promise<void> {
    const before = stream.actor.principal
    const actor = await stream.stands()
    if (!actor) {
      const isOpen = (await statusOf(before.tenantId)) === 'active'
      return stream.end(isOpen ? (before.kind === 'session' ? 'session_ended' : 'key_ended') : 'tenant_suspended')
    }
    const { principal } = actor
    const held = 'permissions' in principal ? principal.permissions : new Set()
    if (held.size !== before.permissions.size || !before.permissions.isSubsetOf(held))
      return stream.end('permissions_changed')
    const at = now().getTime()
    if (principal.kind !== 'session') {
      stream.checkAt = at + keyEveryMs
      return
    }
    const absolute = principal.expiresAt.getTime()
    let idle = principal.idleExpiresAt.getTime()
    // Only then is it worth a statement what another replica knows.
    if (Math.min(idle, absolute) - warnedBeforeMs <= at && stream.warnedOf !== Math.min(idle, absolute))
      idle = (await db.inTenant(principal.tenantId, (tx) => idleExpiresAt(tx, principal)))?.getTime() ?? idle
    const ends = Math.min(idle, absolute)
    const isNear = ends - warnedBeforeMs <= at
    // Also where the session goes on: a client that was warned is told.
    const isSaid = stream.warnedOf === undefined ? !isNear : stream.warnedOf === ends
    if (!isSaid) stream.warn(new Date(ends), idle <= absolute ? 'idle' : 'absolute')
    if (!isNear) stream.warnedOf = undefined
    stream.checkAt = isNear ? Math.min(ends, at + lookAgainMs) : ends - warnedBeforeMs
  }

  return async (stream: OpenStream): Promise<void> => {
    if (stream.isEnded) return
    stream.isChecking = true
    stream.checksDue++
    if (stream.checksDue > 1) return
    try {
      // A change that comes while it is judged asks for another look.
      for (let due = 0; due !== stream.checksDue && !stream.isEnded; ) {
        due = stream.checksDue
        await judge(stream)
      }
      stream.resume()
    } finally {
      // Where the database does not answer the next beat tries again; nothing is sent until then.
      stream.checksDue = 0
    }
  }
}
