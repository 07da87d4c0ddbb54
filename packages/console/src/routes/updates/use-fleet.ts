import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'

/** Devices by client version, now and over 30 days; not asked for a caller who may not see it. */
export function useFleet() {
  const can = useCan()
  return useApi('GET /v1/admin/metrics/fleet', { query: { days: 30 } }, { enabled: can('operations:read') })
}
