import { openDeviceCore } from './device-core.ts'
import type { DeviceOptions } from './device-options.ts'
import { type PollingOptions, runPolling } from './device-polling.ts'
import type { DeviceState } from './device-state.ts'
import { type FollowingOptions, followDirectory } from './directory-following.ts'

/** A device that enrolled before. What it holds stays in force until its own end, whatever server or network do. */
export function openDevice(saved: DeviceState, options: DeviceOptions = {}) {
  const core = openDeviceCore(saved, options)
  const { now = () => new Date(), random = Math.random } = options
  // The getters of the core are kept: its properties are added to, not copied.
  return Object.assign(core, {
    /** Keeps the directory current until aborted; see `FollowingOptions`. */
    followDirectory: (options: FollowingOptions): Promise<void> => followDirectory(core, options, { now, random }),
    /** Keeps the policy current until aborted; see `PollingOptions`. */
    runPolling: (options: PollingOptions): Promise<void> => runPolling(core, options, { now, random }),
  })
}
export type Device = ReturnType<typeof openDevice>
