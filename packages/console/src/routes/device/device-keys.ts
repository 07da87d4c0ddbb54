import type { useOffReason } from '../../api/me.ts'
import { type DeviceDeed, openOverlay } from '../../shell/overlay.ts'
import type { Device } from '../devices/words.ts'
import { approveNow } from './approve-now.ts'

/**
 * Returns the keys on a device: `l` lost, `r` revoke, `a` approve. An approval runs at once; the others ask first.
 * Without the permission to run the playbook, `l` suspends, which a helpdesk may do.
 */
export function deviceKeys(
  deviceOf: (id: string) => Device | undefined,
  off: ReturnType<typeof useOffReason>,
): Readonly<Record<string, (id: string) => void>> {
  const on = (act: (device: Device) => void) => (id: string) => {
    const device = deviceOf(id)
    if (device && device.status !== 'revoked') act(device)
  }
  const ask = (deed: DeviceDeed) => (device: Device) =>
    openOverlay({ kind: 'device_deed', deed, target: { devices: [device] } })
  const suspends = off('incidents:run') !== undefined && off('devices:suspend') === undefined
  return {
    l: on((device) => ask(suspends && device.status === 'active' ? 'suspend' : 'lost')(device)),
    r: on((device) => off('devices:write') === undefined && ask('revoke')(device)),
    a: on((device) => {
      if (device.status === 'pending' && off('devices:write') === undefined) void approveNow(device)
    }),
  }
}
