import { useApi } from '../api/use-api.ts'

/** Number of devices that a gateway outage affects: "312 devices: 287 moved, 25 stuck". */
export function Affected({ gatewayId, otherwise }: { gatewayId: string; otherwise: string }) {
  const { data } = useApi('GET /v1/admin/gateways/{gateway_id}/impact', {
    params: { gateway_id: gatewayId },
    query: { limit: 1 },
  })
  if (!data?.counts) return otherwise
  const { devices, moved, stuck } = data.counts
  return `${devices} ${devices === 1 ? 'device' : 'devices'}: ${moved} moved, ${stuck} stuck`
}
