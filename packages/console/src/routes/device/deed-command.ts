import type { DeviceDeed, DeviceTarget } from '../../shell/overlay.ts'
import { optionsOf } from '../../table/command.ts'

/**
 * Returns the equivalent command line. Undefined if there is none: the command line has no option for all devices.
 *
 * @example deedCommand('revoke', { devices: [device] }) // holdfast device revoke dev_01…
 */
export function deedCommand(deed: DeviceDeed, { devices, filter }: DeviceTarget): string | undefined {
  const ids = devices.map((device) => device.device_id)
  if (deed === 'lost') return `holdfast incident run lost_device device_id=${ids[0]}`
  if (filter === undefined)
    return ids.length === 1 ? `holdfast device ${deed} ${ids[0]}` : `holdfast device batch ${deed} ${ids.join(' ')}`
  const options = optionsOf(filter)
  return options.length === 0 ? undefined : `holdfast device batch ${deed} ${options.join(' ')}`
}
