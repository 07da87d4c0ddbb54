import { background, type Tx } from '../../../db/database.ts'
import { findNames, type Names } from '../../../db/names.ts'
import type { PageQuery } from '../../../db/page.ts'
import type { ResourceBytes } from '../../../db/tables/gateways.ts'
import type { Actor, Source, TenantId } from '../../../kernel/actor.ts'
import { failField } from '../../../kernel/app-error.ts'
import { eachTenant } from '../../../kernel/each-tenant.ts'
import { decodeId, encodeId, missing } from '../../../kernel/ids.ts'
import { minute, second } from '../../../kernel/time.ts'
import type { EndVpnSessions } from '../../offboarding/index.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { SessionFilter, SessionRow } from './sessions.queries.ts'
import * as queries from './sessions.queries.ts'

/** Time without a report after which a session ends. Gateways report once a minute. */
const silentAfterMs = 15 * minute
const terminateLimit = 10_000
/** Maximum of session ids in an event, which also has their number. */
const mostNamed = 100
/** Default time for which a device is blocked after its session was terminated. */
const defaultBlockSeconds = 300
/** Batch size of a sweep. It repeats until nothing is left. */
const sweepSize = 5000

export type Session = { row: SessionRow; names: Names }

export function createVpnSessions({
  db,
  audit,
  changes,
  pager,
  now,
  listening,
  entitlements,
  signals,
}: Pick<GatewaysDeps, 'db' | 'audit' | 'changes' | 'pager' | 'now' | 'listening' | 'entitlements' | 'signals'>) {
  const withNames = async (tx: Tx, tenant: TenantId, rows: SessionRow[]): Promise<Session[]> => {
    const names = await findNames(tx, tenant, {
      device: rows.map((r) => r.device_id),
      user: rows.map((r) => r.user_id),
      gateway: rows.map((r) => r.gateway_id),
      gateway_pool: rows.map((r) => r.pool_id),
    })
    return rows.map((row) => ({ row, names }))
  }

  const named = (ended: readonly { session_id: string }[]) =>
    ended.slice(0, mostNamed).map((s) => encodeId('vpn_session', s.session_id))
  async function recordEnded(tx: Tx, by: Source, ended: readonly { session_id: string }[], reason: string) {
    if (ended.length === 0) return
    const source = { ...by, claim: null }
    const details = { terminated: ended.length }
    await audit.record(tx, source, 'vpn_session.terminated', { session_ids: named(ended), reason }, { details })
  }

  return {
    list: (tenant: TenantId, state: 'active' | 'ended' | 'all', filter: SessionFilter, query: PageQuery) =>
      db.inTenant(tenant, async (tx) => {
        const found = await pager.list(queries.selectSessions(tx, tenant, state, filter), {
          operation: 'listSessions',
          tenant,
          query: { ...query, state, ...filter },
          orders: { started_at: { column: 'started_at', kind: 'time' } },
          tie: 'session_id',
        })
        return { items: await withNames(tx, tenant, found.items), next_cursor: found.next_cursor }
      }),

    get: (tenant: TenantId, sessionId: string): Promise<Session & { resources: ResourceBytes }> =>
      db.inTenant(tenant, async (tx) => {
        const row = (await queries.findSession(tx, tenant, sessionId)) ?? missing('vpn_session')
        const [session] = await withNames(tx, tenant, [row])
        return { ...(session ?? missing('vpn_session')), resources: row.resources }
      }),

    /**
     * Ends active sessions by id or by filter, 10,000 at most. `matched`: known sessions among the ids, or active
     * sessions that match the filter. The gateways receive the ends in the next delta, and block the devices until
     * `blockUntil`.
     */
    terminate: (
      actor: Actor,
      which: { ids: readonly string[] } | { filter: SessionFilter },
      { reason, block_seconds = defaultBlockSeconds }: { reason?: string; block_seconds?: number },
    ): Promise<{ matched: number; terminated: number; blockUntil: Date | null }> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const tenant = actor.tenantId
        const at = now()
        const blockUntil = block_seconds === 0 ? null : new Date(at.getTime() + block_seconds * second)
        const end = { reason: 'admin', at, blockUntil }
        const ended =
          'ids' in which
            ? await queries.endByIds(tx, tenant, which.ids, end)
            : await queries.endMatching(tx, tenant, which.filter, end, terminateLimit + 1)
        if (ended.length > terminateLimit)
          failField(
            'filter',
            `matches more than ${terminateLimit} sessions, the maximum of one request: use a narrower filter`,
          )
        const matched = 'ids' in which ? await queries.countKnown(tx, tenant, which.ids) : ended.length
        if (ended.length > 0) {
          const fields = { session_ids: named(ended), ...(reason !== undefined && { reason }) }
          await audit.record(tx, actor, 'vpn_session.terminated', fields, {
            details: { matched, terminated: ended.length, block_until: blockUntil?.toISOString() ?? null },
          })
          await changes.record(
            tx,
            tenant,
            ended.map((s) => ({ kind: 'vpn_session', subject: s.session_id })),
          )
        }
        return { matched, terminated: ended.length, blockUntil: ended.length > 0 ? blockUntil : null }
      }),

    blockedUntil: (tenant: TenantId, deviceId: string): Promise<Date | undefined> =>
      db.inTenant(tenant, (tx) => queries.findBlockedUntil(tx, tenant, deviceId, now())),

    /**
     * Returns the limit of VPN sessions that prevents a new one; null if it is not reached. A device with an active
     * session in the pool is not limited: its new session replaces the old one.
     */
    sessionLimitFor: (
      tenant: TenantId,
      of: { device_id: string } | { user_id: string },
      poolIds: readonly string[] | null,
    ): Promise<number | null> =>
      db.inTenant(tenant, async (tx) => {
        const limit = await entitlements.reachedLimit(tx, tenant, 'sessions')
        if (limit === null) return null
        const pools = poolIds?.flatMap((id) => decodeId('gateway_pool', id) ?? []) ?? null
        return (await queries.hasActive(tx, tenant, of, pools)) ? null : limit
      }),

    /**
     * Ends the sessions of devices or users, with one event, in the transaction that stops them. That transaction
     * records the change of the devices or users, which notifies the gateways.
     */
    endVpnSessions: (async (tx, source, { deviceIds = [], userIds = [] }, reason) => {
      if (deviceIds.length + userIds.length === 0) return { vpn_sessions: 0 }
      const end = { reason, at: now(), blockUntil: null }
      const ended = await queries.endOfDevicesAndUsers(tx, source.tenantId, { deviceIds, userIds }, end)
      await recordEnded(tx, source, ended, reason)
      return { vpn_sessions: ended.length }
    }) satisfies EndVpnSessions,

    /** Ends all sessions of a gateway, or up to 10,000 of the tenant; the next reports end the rest. */
    endSessionsAt: async (tx: Tx, by: Source, gatewayId: string | undefined): Promise<unknown> => {
      const end = { reason: 'suspended', at: now(), blockUntil: null }
      const ended =
        gatewayId === undefined
          ? await queries.endAny(tx, by.tenantId, end, terminateLimit)
          : await queries.endSessionsOfGateway(tx, by.tenantId, gatewayId, end.reason, end.at)
      return recordEnded(tx, by, ended, end.reason)
    },

    /** Ends sessions that their gateways no longer report, if the deployment listened. Returns their number. */
    endSilent: async (): Promise<number> => {
      const at = now()
      const since = new Date(at.getTime() - silentAfterMs)
      if ((await listening.since()) > since) return 0
      let ended = 0
      const tenants = await db.acrossTenants((tx) => queries.tenantsWithSilent(tx, since), background)
      await eachTenant(tenants, async (tenant) => {
        for (let batch = sweepSize; batch === sweepSize; ended += batch)
          batch = await db.inTenant(tenant, (tx) => queries.endSilent(tx, tenant, since, at, sweepSize), background)
        signals.tell(tenant, 'vpn_session', 'many')
      })
      return ended
    },
  }
}
export type VpnSessions = ReturnType<typeof createVpnSessions>
