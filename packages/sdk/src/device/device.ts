import { type FollowingOptions, followDirectory } from '../gateway/directory-following.ts'
import { openDeviceCore } from './core.ts'
import type { DeviceOptions } from './options.ts'
import { type PollingOptions, runPolling } from './polling.ts'
import type { DeviceState } from './state.ts'

/**
 * Opens an enrolled device. During a failure of the server or the network, its policy, directory and certificate stay
 * in force until they expire.
 */
export function openDevice(saved: DeviceState, options: DeviceOptions = {}) {
  const core = openDeviceCore(saved, options)
  const { now = () => new Date(), random = Math.random } = options
  // Adds to the core's properties instead of copying them, so that its getters are kept.
  return Object.assign(core, {
    /** Keeps the directory current until aborted; see `FollowingOptions`. */
    followDirectory: (options: FollowingOptions): Promise<void> => followDirectory(core, options, { now, random }),
    /** Keeps the policy current until aborted; see `PollingOptions`. */
    runPolling: (options: PollingOptions): Promise<void> => runPolling(core, options, { now, random }),
  })
}
export type Device = ReturnType<typeof openDevice>
