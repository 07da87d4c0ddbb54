import { background, type Database, type Tx } from '../../db/database.ts'
import { type Actor, jobSource, type Source, type TenantId } from '../../kernel/actor.ts'
import { inBatches } from '../../kernel/batches.ts'
import { eachTenantOf } from '../../kernel/each-tenant.ts'
import { encodeId, missing, newUuid } from '../../kernel/ids.ts'
import { type Change, type Changes, everything } from '../../replication/changes.ts'
import type { Audit } from '../audit/index.ts'
import type { Gateways } from '../gateways/index.ts'
import { holdStoppable, type Identity, requireMayLetIn, type Warning, warned } from '../identity/index.ts'
import type { LockRow, LockTarget } from './locks.queries.ts'
import * as queries from './locks.queries.ts'

export type LocksDeps = {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  /** Ends VPN sessions, in the transaction that makes the lock. */
  gateways: Pick<Gateways, 'endVpnSessions' | 'endSessionsAt'>
  identity: Pick<Identity, 'endAdminSessions'> & { breakGlass: Pick<Identity['breakGlass'], 'requireAnother'> }
}

/** Above this number of users or devices, one change covers the whole tenant. */
const mostTold = 5000
/** Number of due locks read at once. */
const perRound = 500
const job = 'end_locks'

/**
 * Locks deny access whatever the status of their target. They change no status, so a release leaves everything as if
 * there had been no lock. Each decision about a device, a session or a key reads the locks too. The change of a target
 * makes all replicas and gateways reread it.
 */
export function createLocks({ db, audit, changes, now, gateways, identity }: LocksDeps) {
  /**
   * Ends running sessions along with the lock. Of a large group or a tenant it ends the first ones; the others end with
   * the next reports.
   */
  async function cut(tx: Tx, source: Source, { type, id }: LockTarget): Promise<Change[]> {
    const { tenantId: tenant } = source
    if (type === 'gateway' || type === 'tenant')
      await gateways.endSessionsAt(tx, source, type === 'gateway' ? id : undefined)
    if (type === 'device') await gateways.endVpnSessions(tx, source, { deviceIds: [id] }, 'suspended')
    if (type === 'group') {
      const { users, devices } = await queries.boundByGroup(tx, tenant, id, mostTold)
      await gateways.endVpnSessions(tx, source, { userIds: users, deviceIds: devices }, 'suspended')
    }
    if (type !== 'user') return []
    await gateways.endVpnSessions(tx, source, { userIds: [id] }, 'suspended')
    return identity.endAdminSessions(tx, source, [id])
  }
  /** Returns the changes that replicas and gateways must apply. */
  async function touched(tx: Tx, tenant: TenantId, { type, id }: LockTarget): Promise<Change[]> {
    if (type === 'tenant') return [{ kind: 'device', subject: everything }]
    if (type !== 'group') return [{ kind: type, subject: id }]
    const { users, devices } = await queries.boundByGroup(tx, tenant, id, mostTold + 1)
    if (users.length > mostTold || devices.length > mostTold) return [{ kind: 'device', subject: everything }]
    return [
      { kind: 'group', subject: id },
      ...users.map((subject): Change => ({ kind: 'user', subject })),
      ...devices.map((subject): Change => ({ kind: 'device', subject })),
    ]
  }

  type Details = { reason?: string; warnings?: string[] }
  const recordOf = (tx: Tx, source: Source, kind: 'lock.set' | 'lock.released', lock: LockRow, details: Details) => {
    const fields = { lock_id: encodeId('lock', lock.lock_id), target_type: lock.target_type }
    const target = { type: lock.target_type, id: encodeId(lock.target_type, lock.target_id), name: lock.target_name }
    return audit.record(tx, source, kind, fields, { target, ...(Object.keys(details).length > 0 && { details }) })
  }
  const partyOf = ({ type, id, name }: Source) => ({ type, id, name })

  async function free(tx: Tx, source: Source, id: string, reason: string | undefined, isDue = false) {
    const how = { by: partyOf(source), at: now(), isDue }
    const released = await queries.releaseLock(tx, source.tenantId, id, how)
    if (released) await recordOf(tx, source, 'lock.released', released, reason === undefined ? {} : { reason })
    return released
  }
  async function release(tx: Tx, source: Source, id: string, reason: string | undefined, isDue = false) {
    const released = await free(tx, source, id, reason, isDue)
    if (!released) return undefined
    const target = { type: released.target_type, id: released.target_id }
    await changes.record(tx, source.tenantId, await touched(tx, source.tenantId, target))
    return released
  }

  return {
    /** `changed` is false if the target was locked already; that lock stays as it was. */
    create: (
      actor: Actor,
      target: LockTarget,
      { reason, expiresInSeconds }: { reason: string; expiresInSeconds: number | undefined },
    ): Promise<{ lock: LockRow; changed: boolean; warnings: Warning[] }> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const { tenantId: tenant } = actor
        const user = target.type === 'user' ? await holdStoppable(tx, actor, target.id) : undefined
        const warnings = user?.warnings ?? []
        if (user) warnings.push(...(await identity.breakGlass.requireAnother(tx, actor, user)))
        const name = user ? user.username : await queries.lockTargetName(tx, tenant, target)
        if (name === undefined) return missing(target.type)
        const wanted = { id: newUuid(), target, name, reason, by: partyOf(actor), expiresInSeconds }
        const lock = await queries.insertLock(tx, tenant, wanted, now())
        if (!lock) {
          const active = (await queries.findActive(tx, tenant, target)) ?? missing('lock')
          return { lock: active, changed: false, warnings: [] }
        }
        const ended = await cut(tx, actor, target)
        await recordOf(tx, actor, 'lock.set', lock, { reason, ...warned(warnings) })
        await changes.record(tx, tenant, [...ended, ...(await touched(tx, tenant, target))])
        return { lock, changed: true, warnings }
      }),

    release: (actor: Actor, id: string, reason: string | undefined): Promise<{ lock: LockRow; changed: boolean }> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const before = (await queries.findLock(tx, actor.tenantId, id)) ?? missing('lock')
        if (before.released_at) return { lock: before, changed: false }
        if (before.target_type === 'user') await requireMayLetIn(tx, actor, before.target_id)
        const released = await release(tx, actor, id, reason)
        return released
          ? { lock: released, changed: true }
          : { lock: (await queries.findLock(tx, actor.tenantId, id)) ?? missing('lock'), changed: false }
      }),

    /**
     * Releases the lock of a user, in the transaction of a caller that records the user's change itself. False if the
     * user has no active lock.
     */
    releaseOfUser: async (tx: Tx, source: Source, user: string): Promise<boolean> => {
      const lock = await queries.findActive(tx, source.tenantId, { type: 'user', id: user })
      return lock !== undefined && (await free(tx, source, lock.lock_id, undefined)) !== undefined
    },

    /** Releases locks that have expired or whose target is gone. Returns their number. */
    endDue: async (): Promise<number> => {
      const due = inBatches<queries.DueLock>(perRound, (after, limit) =>
        db.acrossTenants((tx) => queries.dueLocks(tx, after, limit), background),
      )
      let ended = 0
      await eachTenantOf(due, async (tenant, locks) => {
        for (const { lock_id, is_over } of locks) {
          const why = is_over ? 'expired' : 'its target was deleted'
          if (await db.inTenant(tenant, (tx) => release(tx, jobSource(tenant, job), lock_id, why, is_over))) ended++
        }
      })
      return ended
    },
    job,
  }
}
export type Locks = ReturnType<typeof createLocks>
