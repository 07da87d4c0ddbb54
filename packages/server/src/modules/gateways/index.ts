import type { Handlers } from '../../http/serve.ts'
import { fail } from '../../kernel/app-error.ts'
import { decodeId } from '../../kernel/ids.ts'
import { waitSeconds } from '../policy/index.ts'
import type { GatewaysDeps } from './deps.ts'
import { createDeltas } from './pull/delta.ts'
import { createDirectory } from './pull/directory.ts'
import { createPeers } from './pull/peers.ts'
import { createUnifiedPolicy } from './pull/unified-policy.ts'
import { createWaiters } from './pull/waiters.ts'
import { createGatewayRules } from './registry/gateways.ts'
import { createPools } from './registry/pools.ts'
import { createRegistry } from './registry/registry.ts'
import { createSecrets } from './registry/secrets.ts'
import { viewGateway, viewPool, viewSession } from './registry/view.ts'
import { createActivity } from './reports/activity.ts'
import { createMetering } from './reports/metering.ts'
import { readSessionChoice, readSessionFilter, uuidOf } from './reports/read-input.ts'
import { createSessions } from './reports/sessions.ts'
import { statusOf } from './reports/status.ts'
import { createTelemetry } from './reports/telemetry.ts'

export type { GatewaysDeps } from './deps.ts'

const maxWaiters = 20_000
/** Changes that come this close together wake the waiting gateways once. */
const gatherMs = 20
const heartbeatSeconds = 10

/** Gateways, what they must enforce and what they report: pools, secrets, sessions, metering, unified policy. */
export function createGateways(deps: GatewaysDeps) {
  const { now, fleet, policy } = deps
  const registry = createRegistry(deps)
  const activity = createActivity(deps)
  const secrets = createSecrets({ ...deps, registry })
  const pools = createPools(deps)
  const gateways = createGatewayRules({ ...deps, secrets })
  const sessions = createSessions(deps)
  const metering = createMetering({ ...deps, activity })
  const telemetry = createTelemetry(deps)
  const directory = createDirectory({ ...deps, registry, activity })
  const waiters = createWaiters({ changes: deps.changes, max: maxWaiters, gatherMs })
  const unified = createUnifiedPolicy({
    ...deps,
    registry,
    waiters,
    deltas: createDeltas(deps),
    peers: createPeers(deps),
  })
  const nowMs = () => now().getTime()

  const handlers = {
    listGatewayPools: async ({ actor, query }) => {
      const found = await pools.list(actor.tenantId, query)
      return { items: found.items.map(viewPool), next_cursor: found.next_cursor }
    },
    createGatewayPool: async ({ actor, body }) => viewPool(await pools.create(actor, body)),
    getGatewayPool: async ({ actor, params }) =>
      viewPool(await pools.get(actor.tenantId, uuidOf('gateway_pool', params.pool_id))),
    updateGatewayPool: async ({ actor, params, body }) =>
      viewPool(await pools.update(actor, uuidOf('gateway_pool', params.pool_id), body)),
    deleteGatewayPool: async ({ actor, params }) => {
      await pools.remove(actor, uuidOf('gateway_pool', params.pool_id))
      return { changed: true }
    },

    listGateways: async ({ actor, params, query }) => {
      const pool = await pools.get(actor.tenantId, uuidOf('gateway_pool', params.pool_id))
      const found = await gateways.list(actor.tenantId, pool.pool_id, query)
      return { items: found.items.map((g) => viewGateway(g, nowMs())), next_cursor: found.next_cursor }
    },
    createGateway: async ({ actor, params, body }) => {
      const { name, endpoints = [], public_key = null, weight = 100 } = body
      const fields = { name, endpoints, public_key, weight }
      const { gateway, secret } = await gateways.create(actor, uuidOf('gateway_pool', params.pool_id), fields)
      return { gateway: viewGateway(gateway, nowMs()), secret }
    },
    getGateway: async ({ actor, params }) =>
      viewGateway(await gateways.get(actor.tenantId, uuidOf('gateway', params.gateway_id)), nowMs()),
    updateGateway: async ({ actor, params, body }) =>
      viewGateway(await gateways.update(actor, uuidOf('gateway', params.gateway_id), body), nowMs()),
    deleteGateway: async ({ actor, params }) => ({
      changed: await gateways.remove(actor, uuidOf('gateway', params.gateway_id)),
    }),
    rotateGatewaySecret: async ({ actor, params }) => {
      const { secret, oldValidUntil } = await gateways.rotateSecret(actor, uuidOf('gateway', params.gateway_id))
      return { gateway_id: params.gateway_id, secret, old_secret_valid_until: oldValidUntil.toISOString() }
    },
    drainGateway: async ({ actor, params, body }) => {
      const id = uuidOf('gateway', params.gateway_id)
      const { gateway, changed } = await gateways.drain(actor, id, body.draining, body.reason)
      return { gateway: viewGateway(gateway, nowMs()), changed }
    },

    gatewayPools: ({ actor, request }) => directory.answer(actor, request.headers['if-none-match']),
    unifiedPolicy: ({ actor, query, request }) =>
      unified.answer(actor, query.since, waitSeconds(request.headers.prefer) * 1000, () => request.signal),
    gatewayPolicyBundle: async ({ actor, query }) => {
      const deviceId = uuidOf('device', query.device_id)
      return policy.bundleFor((await fleet.device(actor.tenantId, deviceId)) ?? fail('not_found', 'no such device'))
    },

    heartbeat: async ({ actor, body }) => {
      const at = now()
      const gateway = (await registry.of(actor.tenantId)).gateways.get(actor.principal.id)
      if (!gateway) return fail('unauthorized', 'missing or invalid credentials')
      await activity.report({
        tenantId: actor.tenantId,
        gatewayId: gateway.gateway_id,
        at,
        bootId: body.boot_id,
        version: body.version ?? null,
        activeSessions: body.active_sessions,
        rxBps: body.rx_bps ?? null,
        txBps: body.tx_bps ?? null,
        policyDigest: body.applied?.policy_digest ?? null,
        policySeq: body.applied?.policy_seq ?? null,
        trustVersion: body.applied?.trust_version ?? null,
      })
      const { status } = statusOf(gateway, at.getTime(), at.getTime())
      return { status, server_time: now().toISOString(), next_heartbeat_seconds: heartbeatSeconds }
    },
    metering: ({ actor, body }) => metering.take(actor, body),
    telemetry: ({ actor, body }) => telemetry.take(actor, body.events),

    listSessions: async ({ actor, query }) => {
      const { state = 'active', limit, cursor, sort, ...given } = query
      const filter = readSessionFilter(given)
      if (!filter) return { items: [], next_cursor: null }
      const page = { ...(limit && { limit }), ...(cursor && { cursor }), ...(sort && { sort }) }
      const found = await sessions.list(actor.tenantId, state, filter, page)
      return { items: found.items.map(viewSession), next_cursor: found.next_cursor }
    },
    getSession: async ({ actor, params }) =>
      viewSession(
        await sessions.get(
          actor.tenantId,
          decodeId('vpn_session', params.session_id) ?? fail('not_found', 'no such session'),
        ),
      ),
    terminateSessions: ({ actor, body }) => sessions.terminate(actor, readSessionChoice(body), body.reason),
  } satisfies Partial<Handlers>

  return {
    handlers,
    /** For the pipe's table of verifiers. */
    verifyGateway: secrets.verify,
    /** Ends the VPN sessions of devices or users in the transaction that stops them. */
    endSessionsOf: sessions.endSessionsOf,
    /** Jobs: safe to run at any time, on any replica. */
    endSilentSessions: sessions.endSilent,
    forgetExpiredSecrets: secrets.forgetExpired,
    gatewaysDown: activity.down,
    /** Requests held for a change. */
    waiting: waiters.count,
    /** Answers every held request. */
    stop: waiters.stop,
  }
}
export type Gateways = ReturnType<typeof createGateways>
