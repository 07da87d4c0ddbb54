import { call, type OutputOf } from '../../api/client.ts'
import { expectOwnChange } from '../../api/live.ts'
import { queryClient } from '../../api/query-client.ts'
import type { DeviceDeed, DeviceTarget } from '../../shell/overlay.ts'

export type BatchAnswer = OutputOf<'POST /v1/admin/devices/batch'>

/**
 * Changes devices in one request, and reads the data of devices again. A single device uses another operation than
 * many: a helpdesk may suspend one device.
 *
 * @throws {ApiError} if nothing was changed
 */
export async function changeDevices(
  operation: Exclude<DeviceDeed, 'lost'>,
  { devices, filter }: DeviceTarget,
  reason?: string,
): Promise<BatchAnswer> {
  expectOwnChange('devices')
  expectOwnChange('sessions')
  const why = reason === undefined ? {} : { reason }
  const [only, ...others] = devices
  const answer =
    filter === undefined && only && others.length === 0
      ? await changeOne(operation, only.device_id, why)
      : await call('POST /v1/admin/devices/batch', {
          body: {
            operation,
            ...why,
            ...(filter === undefined ? { device_ids: devices.map((d) => d.device_id) } : { filter }),
          } as never,
        })
  await refreshDevices()
  return answer
}

async function changeOne(
  operation: Exclude<DeviceDeed, 'lost'>,
  device_id: string,
  why: { reason?: string },
): Promise<BatchAnswer> {
  const { changed } = await call('POST /v1/admin/devices/lifecycle', { body: { operation, device_id, ...why } })
  const outcome = changed ? ('changed' as const) : ('unchanged' as const)
  const summary = { changed: changed ? 1 : 0, unchanged: changed ? 0 : 1, failed: 0 }
  return { matched: 1, results: [{ device_id, outcome }], summary }
}

/** Reads all data again that includes devices. */
export const refreshDevices = (): Promise<void> =>
  queryClient.invalidateQueries({
    predicate: ({ queryKey: [route] }) => /\/v1\/admin\/(devices|sessions|dashboard|spc)/.test(String(route)),
  })
