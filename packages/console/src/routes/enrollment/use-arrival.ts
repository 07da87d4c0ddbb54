import { useEffect, useRef } from 'react'
import type { OutputOf } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import { queryClient } from '../../api/query-client.ts'
import { useApi } from '../../api/use-api.ts'
import { announce } from '../../ui/announce.ts'
import type { Token } from './words.ts'

export type ArrivedDevice = OutputOf<'GET /v1/admin/devices'>['items'][number]
export type Arrival = {
  /** Current token, if the caller may read it. */
  token: Token
  /** Devices that enrolled with it, newest first. */
  devices: readonly ArrivedDevice[]
  hasMore: boolean
  /** True if another device can still use the token. */
  isUsable: boolean
  /** Error that keeps the sheet from showing the device. */
  error: Error | null
  canSeeDevices: boolean
}

/** Interval that keeps the row at most 3 s behind. The stream reports new devices, but refused attempts only late. */
const everyMs = 2_000
const shown = 5

/** Follows an enrollment token until it is used up and no device is pending. */
export function useArrival(made: Token): Arrival {
  const can = useCan()
  const { token_id, max_uses } = made
  const isUsedUpBy = (found: readonly ArrivedDevice[]) => max_uses > 0 && found.length >= Math.min(max_uses, shown)
  const one = useApi(
    'GET /v1/admin/tokens/{token_id}',
    { params: { token_id } },
    {
      everyMs: (data) => (data && data.status !== 'active' ? undefined : everyMs),
      enabled: can('enrollment_tokens:read'),
    },
  )
  const canSeeDevices = can('devices:read')
  const list = useApi(
    'GET /v1/admin/devices',
    { query: { token_id, sort: '-enrolled_at', limit: shown } },
    {
      everyMs: (data) => (isSettled(data?.items ?? [], isUsedUpBy) ? undefined : everyMs),
      enabled: canSeeDevices,
    },
  )
  const token = one.data ?? made
  const devices = list.data?.items ?? []
  const isUsable = token.status === 'active' && !(max_uses <= shown && isUsedUpBy(devices))
  useNews(devices)
  return {
    token,
    devices,
    isUsable,
    canSeeDevices,
    hasMore: list.data?.next_cursor != null,
    error: list.error ?? one.error,
  }
}

/** True if the token is used up and no device is pending. */
const isSettled = (devices: readonly ArrivedDevice[], isUsedUp: (devices: readonly ArrivedDevice[]) => boolean) =>
  isUsedUp(devices) && devices.every((device) => device.status !== 'pending')

/** Announces the newest device, and reads the list behind the sheet and the checklist again. */
function useNews(devices: readonly ArrivedDevice[]): void {
  const state = devices.map((device) => `${device.name} ${device.status}`).join()
  const before = useRef(state)
  const newest = devices[0]
  useEffect(() => {
    if (before.current === state) return
    before.current = state
    if (newest) announce(`${newest.name} ${newest.status === 'pending' ? 'waits for approval' : 'is enrolled'}`)
    void queryClient.invalidateQueries({
      predicate: ({ queryKey: [route, input] }) =>
        /GET \/v1\/admin\/(devices|tokens|dashboard|start)/.test(String(route)) && !isOwn(input),
    })
  }, [state, newest])
}
const isOwn = (input: unknown) => (input as { query?: { token_id?: string } })?.query?.token_id !== undefined
