import type { SecuritySettings } from '@holdfast/contract/settings'
import { mintToken, type Peppers, storedDigests } from '@holdfast/crypto'
import type { Database, Tx } from '../../../db/database.ts'
import type { PresentedToken } from '../../../http/admission/authenticate.ts'
import {
  type Actor,
  jobSource,
  type Principal,
  permissionsOf,
  type Source,
  type TenantId,
} from '../../../kernel/actor.ts'
import { fail, unauthorized } from '../../../kernel/app-error.ts'
import { BoundedMap } from '../../../kernel/bounded-map.ts'
import { eachTenant } from '../../../kernel/each-tenant.ts'
import { encodeId, missing, newUuid } from '../../../kernel/ids.ts'
import { second } from '../../../kernel/time.ts'
import { createWriteBehind } from '../../../kernel/write-behind.ts'
import type { Change, Changes } from '../../../replication/changes.ts'
import { createCredentialCache } from '../../../replication/credential-cache.ts'
import type { Memory } from '../../../replication/tenant-cache.ts'
import type { Audit } from '../../audit/index.ts'
import type { IdentityDeps } from '../deps.ts'
import { present, refuseStronger } from '../people/subject.ts'
import { findUser } from '../people/users.queries.ts'
import { bounded, isSessionOver, knownOf, type StoredSession } from './limits.ts'
import * as queries from './sessions.queries.ts'

/** A session with a new id: the cookie's value, and the change records for replicas. */
export type Renewed = { secret: string; id: string; expiresAt: Date; changes: Change[] }

type SessionsDeps = {
  db: Database
  audit: Audit
  changes: Changes
  feed: Memory['feed']
  now: () => Date
  peppers: Peppers
  tenancy: Pick<IdentityDeps['tenancy'], 'settings'>
  onError: (e: Error) => void
}

/**
 * Sessions of administrators. A session keeps its initial limits; lower limits in later settings apply too. The last
 * use is held in memory and written in batches, within a quarter of the idle time (20 s at most). After an idle time of
 * more than half the limit it is written at once. So a replica that checks the database before it ends an idle session
 * never ends one that is in use on another replica.
 */
export function createAdminSessions(deps: SessionsDeps) {
  const { db, audit, changes, feed, now, peppers, tenancy } = deps
  const seen = new BoundedMap<string, number>(50_000)

  async function load(presented: PresentedToken): Promise<StoredSession | undefined> {
    const { tenant: tenantId } = presented
    const digests = storedDigests(peppers, presented)
    const row = await db.inTenant(tenantId, (tx) => queries.findByDigest(tx, tenantId, digests))
    return row && knownOf(tenantId, row)
  }
  const cache = createCredentialCache<PresentedToken, StoredSession>({
    max: 20_000,
    feed,
    changes,
    load,
    subjectsOf: ({ principal }) => [`admin_session:${principal.id}`, `user:${principal.userId}`],
  })
  const lastSeen = createWriteBehind({
    write: async (batch) => {
      const rows = [...batch].map(([key, at]) => {
        const [tenant_id = '', session_id = ''] = key.split('/')
        return { tenant_id, session_id, at }
      })
      await db.acrossTenants((tx) => queries.writeLastSeen(tx, rows))
    },
    onError: deps.onError,
  })

  /** Records the end of sessions. Returns the change records for replicas. */
  async function record(
    tx: Tx,
    source: Source,
    ended: queries.EndedAdminSession[],
    reason: 'timeout' | 'manual',
    why?: string,
  ): Promise<Change[]> {
    const events = ended.map((s) => {
      const session_id = encodeId('admin_session', s.session_id)
      const fields = { session_id, user_id: encodeId('user', s.user_id), reason }
      const target = { type: 'admin_session', id: session_id, name: s.username }
      return {
        source,
        kind: 'session.expired' as const,
        fields,
        more: { target, ...(why !== undefined && { details: { reason: why } }) },
      }
    })
    await audit.recordAll(tx, events)
    return ended.map((s) => ({ kind: 'admin_session', subject: s.session_id }))
  }

  async function endOverdue(tenant: TenantId, only: string | null): Promise<number> {
    const limits = (await tenancy.settings(tenant)).sessions
    return db.inTenant(tenant, async (tx) => {
      const ended = await queries.endOverdue(tx, tenant, limits, now(), only)
      const touched = await record(tx, jobSource(tenant, 'sweep_sessions'), ended, 'timeout')
      if (touched.length > 0) await changes.record(tx, tenant, touched)
      return ended.length
    })
  }

  return {
    /**
     * Returns the principal of a cookie; undefined unless the session is running. `background`: a request that no
     * person made does not prolong the session.
     */
    verify: async (
      presented: PresentedToken,
      { background = false }: { background?: boolean } = {},
    ): Promise<Principal<'session'> | undefined> => {
      const known = await cache.get(presented)
      if (!known) return undefined
      const { tenantId, id } = known.principal
      const settings = await tenancy.settings(tenantId)
      if (known.isOfPassword && settings.login.enforce_sso) return undefined
      const session = bounded(known, settings)
      const at = now()
      const idleMs = session.idleSeconds * second
      let before = Math.max(seen.get(id) ?? 0, known.lastSeenAt.getTime())
      const idleFrom = (ms: number) => ({ ...session, idleExpiresAt: new Date(ms + idleMs) })
      if (isSessionOver(session, before, at.getTime())) {
        await endOverdue(tenantId, id)
        const elsewhere = await db.inTenant(tenantId, (tx) => queries.findLastSeen(tx, tenantId, id))
        if (!elsewhere || isSessionOver(session, elsewhere.getTime(), at.getTime())) return undefined
        before = elsewhere.getTime()
      }
      if (background) {
        seen.set(id, before)
        return idleFrom(before)
      }
      seen.set(id, at.getTime())
      lastSeen.touch(`${tenantId}/${id}`, at, Math.min(20 * second, idleMs / 4))
      if (at.getTime() - before > idleMs / 2) await lastSeen.flush()
      return idleFrom(at.getTime())
    },

    /**
     * Returns when the session ends for inactivity. It includes times that other replicas have written, which may be
     * late by a quarter of the idle time, or 20 s. Null if the session has ended.
     */
    idleExpiresAt: async (tx: Tx, { tenantId, id, idleSeconds }: Principal<'session'>): Promise<Date | null> => {
      const written = await queries.findLastSeen(tx, tenantId, id)
      return written && new Date(Math.max(written.getTime(), seen.get(id) ?? 0) + idleSeconds * second)
    },

    /**
     * Opens a session in the transaction of the sign-in. Undefined if a lock binds the user. `minted.token` is the
     * cookie's value, which is not stored.
     */
    open: async (
      tx: Tx,
      source: Source,
      user: string,
      limits: SecuritySettings['sessions'],
      how: {
        authMethod: string
        steppedUpAt: Date | null
        provider: { id: string; subject: string; sid: string | null } | null
      },
    ) => {
      if (await queries.isUserLocked(tx, source.tenantId, user)) return undefined
      const minted = mintToken(peppers, 'hfs', source.tenantId)
      const at = now()
      const id = newUuid()
      const expiresAt = new Date(at.getTime() + limits.absolute_seconds * second)
      await queries.insertSession(tx, {
        tenant_id: source.tenantId,
        session_id: id,
        user_id: user,
        secret_digest: minted.digest,
        secret_digest_version: minted.version,
        auth_method: how.authMethod,
        source_ip: source.sourceIp,
        user_agent: source.userAgent?.slice(0, 512) ?? null,
        started_at: at,
        last_seen_at: at,
        idle_seconds: limits.idle_seconds,
        expires_at: expiresAt,
        stepped_up_at: how.steppedUpAt,
        provider_id: how.provider?.id ?? null,
        provider_subject: how.provider?.subject ?? null,
        provider_sid: how.provider?.sid ?? null,
      })
      const session_id = encodeId('admin_session', id)
      const target = { type: 'admin_session', id: session_id, name: source.name }
      await audit.record(tx, source, 'session.started', { session_id, user_id: encodeId('user', user) }, { target })
      return { minted, expiresAt }
    },

    /** True for the one call that ended the session. */
    logout: (source: Source, session: Principal<'session'>): Promise<boolean> =>
      db.inTenant(session.tenantId, async (tx) => {
        const ended = await queries.endOne(tx, session.tenantId, session.id, now())
        const touched = await record(tx, { ...source, tenantId: session.tenantId }, ended, 'manual')
        if (touched.length > 0) await changes.record(tx, session.tenantId, touched)
        return ended.length > 0
      }),

    /**
     * Ends all sessions of a user except `kept`, in the transaction that removes the user's access. The caller records
     * the changes.
     */
    endOfUser: async (tx: Tx, source: Source, user: string, keptSessionId: string | null = null): Promise<Change[]> =>
      record(tx, source, await queries.endOfUser(tx, source.tenantId, user, now(), keptSessionId), 'manual'),

    /** Ends all or some sessions that an identity provider opened. The caller records the changes. */
    endOfProvider: async (tx: Tx, source: Source, provider: string, which: queries.Which): Promise<Change[]> =>
      record(tx, source, await queries.endOfProvider(tx, source.tenantId, provider, which, now()), 'manual'),

    /**
     * Ends the sessions that a password alone opened, of one user or of all but break-glass users. The caller records
     * the changes.
     */
    endPasswordSessions: async (tx: Tx, source: Source, user: string | null): Promise<Change[]> =>
      record(tx, source, await queries.endPasswordSessions(tx, source.tenantId, user, now()), 'manual'),

    /** Ends all sessions of these users, in the transaction that suspends them. The caller records the changes. */
    endOfUsers: async (tx: Tx, source: Source, users: readonly string[]): Promise<Change[]> =>
      record(tx, source, await queries.endSessionsOfUsers(tx, source.tenantId, users, now()), 'manual'),

    /**
     * Gives a session a new id and secret, in the transaction that changes its rights, so that an attacker with the old
     * ones gains nothing. The caller records the changes.
     */
    renew: async (
      tx: Tx,
      source: Source,
      session: Principal<'session'>,
      more: { steppedUpAt?: Date; authMethod?: string } = {},
    ): Promise<Renewed> => {
      const { token: secret, digest, version } = mintToken(peppers, 'hfs', session.tenantId)
      const id = newUuid()
      const made = await queries.replaceSession(tx, session.tenantId, session.id, {
        session_id: id,
        secret_digest: digest,
        secret_digest_version: version,
        auth_method: more.authMethod ?? session.authMethod,
        stepped_up_at: more.steppedUpAt ?? session.steppedUpAt,
        at: now(),
      })
      if (!made) unauthorized()
      const old = { session_id: session.id, user_id: session.userId, username: session.name }
      const touched = await record(tx, source, [old], 'manual')
      const session_id = encodeId('admin_session', id)
      const target = { type: 'admin_session', id: session_id, name: session.name }
      const user_id = encodeId('user', session.userId)
      await audit.record(tx, source, 'session.started', { session_id, user_id }, { target })
      const expiresAt = new Date(Math.min(made.expires_at.getTime(), session.expiresAt.getTime()))
      return { secret, id, expiresAt, changes: touched }
    },

    /** Ends a session: the caller's own, or another user's with the permission. True for the one call that ended it. */
    end: (actor: Actor, id: string, why: string | undefined): Promise<boolean> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const { principal, tenantId } = actor
        const found = (await queries.findSessionOwner(tx, tenantId, id)) ?? missing('admin_session')
        const isOwn =
          principal.kind === 'session' && principal.tenantId === tenantId && principal.userId === found.user_id
        if (!isOwn) {
          if (!permissionsOf(actor).has('credentials:write'))
            fail('forbidden', 'ending a session of another user needs the permission credentials:write')
          refuseStronger(actor, present(await findUser(tx, tenantId, found.user_id)))
        }
        const ended = await queries.endOne(tx, tenantId, id, now())
        const touched = await record(tx, actor, ended, 'manual', why)
        if (touched.length > 0) await changes.record(tx, tenantId, touched)
        return ended.length > 0
      }),

    /** Ends every session that exceeds its time, also those without further requests. Returns their number. */
    sweep: async (): Promise<number> => {
      await lastSeen.flush()
      let count = 0
      await eachTenant(await db.acrossTenants(queries.tenantsWithSessions), async (tenant) => {
        count += await endOverdue(tenant, null)
      })
      return count
    },
    flush: lastSeen.flush,
  }
}
export type AdminSessions = ReturnType<typeof createAdminSessions>
