import type { DeviceDeed, DeviceTarget } from '../../shell/overlay.ts'
import { optionsOf } from '../../table/command.ts'

/**
 * The line that does the same on the command line; undefined where it has none: it takes no filter that finds all.
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
