import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'

/** Reads devices by client version, now and over 30 days. Sends no request for a caller without permission. */
export function useFleet() {
  const can = useCan()
  return useApi('GET /v1/admin/metrics/fleet', { query: { days: 30 } }, { enabled: can('operations:read') })
}
