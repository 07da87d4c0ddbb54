import type { SearchAction } from '@holdfast/contract/vocabulary'
import { byRank, type HeldSource, joinDetail, type Match, rankOf, type SessionSource } from '../../../db/search.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { Activity } from '../reports/activity.ts'
import { findActiveOf } from '../reports/sessions.queries.ts'
import { createGatewaySnapshots } from './gateway-snapshots.ts'
import type { KnownGateway, Registry } from './registry.ts'

/** Search hits of gateways and pools, found by name in the registry in memory, and of VPN sessions. */
export function createGatewayHits({
  now,
  registry,
  activity,
}: Pick<GatewaysDeps, 'now'> & { registry: Registry; activity: Activity }): {
  searchHits: HeldSource[]
  sessionHits: SessionSource
} {
  const standings = createGatewaySnapshots({ registry, activity })
  const rank = (id: string, name: string, text: string) => (text === id ? 0 : rankOf([name], text))
  const searchHits: HeldSource[] = [
    {
      kind: 'gateway',
      match: async ({ tenantId }, text, most) => {
        const found = (await standings(tenantId, now())).flatMap(({ gateway, pool, status }): Match[] => {
          const { gateway_id: id, name } = gateway
          const itsRank = rank(encodeId('gateway', id), name, text)
          if (itsRank === undefined) return []
          const hosts = gateway.endpoints.slice(0, 1).map((e) => e.host)
          const detail = joinDetail(pool.name, ...hosts)
          return [{ id, name, detail, status, allows: allowedOn(gateway), rank: itsRank }]
        })
        return found.sort(byRank).slice(0, most)
      },
    },
    {
      kind: 'gateway_pool',
      match: async ({ tenantId }, text, most) => {
        const { pools } = await registry.of(tenantId)
        const found = [...pools.values()].flatMap(({ pool_id: id, name, region, enabled }): Match[] => {
          const itsRank = rank(encodeId('gateway_pool', id), name, text)
          if (itsRank === undefined) return []
          const detail = joinDetail(region.name ?? region.code)
          return [{ id, name, detail, status: enabled ? 'enabled' : 'disabled', allows: [], rank: itsRank }]
        })
        return found.sort(byRank).slice(0, most)
      },
    },
  ]
  return { searchHits, sessionHits }
}

const allowedOn = (gateway: KnownGateway): SearchAction[] => [
  ...(gateway.proposed_key === null ? [] : (['approve'] as const)),
  gateway.draining ? 'undrain' : 'drain',
  ...(gateway.locked ? [] : (['compromised_gateway'] as const)),
]

/** Search hits of active VPN sessions. */
const sessionHits: SessionSource = {
  findOf: async (tx, { tenantId }, { sessionId, deviceIds, userIds }, most) => {
    const found = [
      ...(sessionId === undefined ? [] : await findActiveOf(tx, tenantId, 'session_id', [sessionId], most)),
      ...(deviceIds.length === 0 ? [] : await findActiveOf(tx, tenantId, 'device_id', deviceIds, most)),
      ...(userIds.length === 0 ? [] : await findActiveOf(tx, tenantId, 'user_id', userIds, most)),
    ]
    return found.map((s) => ({
      id: s.session_id,
      name: s.device_name ?? encodeId('device', s.device_id),
      detail: joinDetail(s.assigned_ip, s.source_ip),
      status: 'active',
      allows: ['terminate'],
      deviceId: s.device_id,
      userId: s.user_id,
    }))
  },
}
