import { useMemo } from 'react'
import type { OutputOf } from '../api/client.ts'
import { useCan } from '../api/me.ts'
import { useApi } from '../api/use-api.ts'
import { systemOf } from '../routes/devices/words.ts'
import type { Hit, Owned } from './palette-items.ts'

type Device = OutputOf<'GET /v1/admin/devices'>['items'][number]
type Can = ReturnType<typeof useCan>

/**
 * Returns the devices of the best user among the hits, since users are easier to remember than device names. Returns
 * none if a hit is a device.
 */
export function useOwnedDevices(
  hits: readonly Hit[] | undefined,
  limit: number,
): { owned: Owned | undefined; isPending: boolean } {
  const can = useCan()
  const user = hits?.some(({ kind }) => kind === 'device') ? undefined : hits?.find(({ kind }) => kind === 'user')
  const enabled = user !== undefined && can('devices:read')
  const { data, isLoading } = useApi(
    'GET /v1/admin/devices',
    { query: { user_id: user?.id ?? '', limit, sort: '-last_seen_at' } },
    { enabled },
  )
  const owned = useMemo(() => {
    const devices = data?.items.filter((device) => device.status !== 'revoked') ?? []
    return user && devices.length > 0 ? { user, devices: devices.map((device) => hitOf(device, can)) } : undefined
  }, [user, data, can])
  return { owned, isPending: enabled && isLoading }
}

const hitOf = (device: Device, can: Can): Hit => ({
  kind: 'device',
  id: device.device_id,
  name: device.name,
  status: device.effective_status,
  detail: [device.user_name, systemOf(device)].filter(Boolean).join(' · '),
  actions: actionsOf(device, can),
})

/** Returns the actions that the search returns for a device. */
function actionsOf({ status }: Device, can: Can): Hit['actions'] {
  const mayWrite = can('devices:write')
  return [
    ...(status !== 'pending' && can('incidents:run') ? (['lost_device'] as const) : []),
    ...(status === 'pending' && mayWrite ? (['approve'] as const) : []),
    ...(status === 'active' && can('devices:suspend') ? (['suspend'] as const) : []),
    ...(status === 'suspended' && mayWrite ? (['reactivate'] as const) : []),
    ...(mayWrite ? (['revoke'] as const) : []),
  ]
}
