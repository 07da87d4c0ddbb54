import { useEffect, useRef } from 'react'
import type { OutputOf } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import { queryClient } from '../../api/query-client.ts'
import { useApi } from '../../api/use-api.ts'
import { announce } from '../../ui/announce.ts'
import type { Token } from './words.ts'

export type ArrivedDevice = OutputOf<'GET /v1/admin/devices'>['items'][number]
export type Arrival = {
  /** The token as the server has it now, as far as the caller may read it. */
  token: Token
  /** Devices that enrolled with it, the newest first. */
  devices: readonly ArrivedDevice[]
  hasMore: boolean
  /** Whether another device can still use the token. */
  isUsable: boolean
  /** Why the sheet cannot see the device arrive. */
  error: Error | null
  canSeeDevices: boolean
}

/** The waiting row turns within 3 s. The stream names new devices too, but not refused tries at once. */
const everyMs = 2_000
const shown = 5

/** Follows one enrollment token until no device can come any more and none waits for approval. */
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

/** Whether no device can come any more and none waits for approval. */
const isSettled = (devices: readonly ArrivedDevice[], isUsedUp: (devices: readonly ArrivedDevice[]) => boolean) =>
  isUsedUp(devices) && devices.every((device) => device.status !== 'pending')

/** Says who arrived, and has the list behind the sheet and the checklist read again. */
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
