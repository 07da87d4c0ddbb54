import { minute, second } from '../../kernel/time.ts'
import type { StreamDeps } from './deps.ts'
import type { OpenStream } from './open-stream.ts'

/** A session is warned this long before it ends, in ms. */
const warnedBeforeMs = 2 * minute
/** After the warning, the cache is checked this often for an extended session, in ms. */
const lookAgainMs = 2 * second
/** An API key may expire at any time. */
const keyEveryMs = second

/**
 * Checks the credential of a stream again: when something that it depends on changes, and when it may have expired. The
 * stream sends nothing until the check is done.
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
    // Another replica may know a later end. Only now is that worth a statement.
    if (Math.min(idle, absolute) - warnedBeforeMs <= at && stream.warnedOf !== Math.min(idle, absolute))
      idle = (await db.inTenant(principal.tenantId, (tx) => idleExpiresAt(tx, principal)))?.getTime() ?? idle
    const ends = Math.min(idle, absolute)
    const isNear = ends - warnedBeforeMs <= at
    // A client that was warned is also told that its session continues.
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
      // A change during the check requires another one.
      for (let due = 0; due !== stream.checksDue && !stream.isEnded; ) {
        due = stream.checksDue
        await judge(stream)
      }
      stream.resume()
    } finally {
      // If the database does not answer, the next heartbeat retries. Nothing is sent until then.
      stream.checksDue = 0
    }
  }
}
