import { useMemo } from 'react'
import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import type { Gateway } from './words.ts'

const most = 200

/** Returns the gateways by id, with their health; empty for a caller without permission. */
export function useGateways() {
  const can = useCan()
  const query = useApi(
    'GET /v1/admin/gateway/health',
    { query: { limit: most } },
    { enabled: can('operations:read'), everyMs: 30_000 },
  )
  const byId = useMemo(
    (): ReadonlyMap<string, Gateway> => new Map(query.data?.items.map((gateway) => [gateway.gateway_id, gateway])),
    [query.data],
  )
  return { query, byId }
}
