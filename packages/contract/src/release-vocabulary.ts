/** Releases of the client: to whom they go, how grave they are, and where they stand. */
export const releaseChannels = ['canary', 'stable'] as const
export const releaseSeverities = ['low', 'normal', 'high', 'critical'] as const
/** Offered while `published`; `paused` only to who has begun; `halted` and `withdrawn` to nobody, for good. */
export const releaseStatuses = ['draft', 'published', 'paused', 'halted', 'withdrawn'] as const
export type ReleaseStatus = (typeof releaseStatuses)[number]
export const releaseOperations = ['publish', 'pause', 'resume', 'halt', 'withdraw', 'promote', 'roll_out'] as const
export type ReleaseOperation = (typeof releaseOperations)[number]
export const packagePlatforms = ['linux', 'macos', 'windows', 'ios', 'android', 'other'] as const
/** Of machines. A package may be for all of them. */
export const deviceArchitectures = ['x64', 'arm64', 'x86', 'arm'] as const
export type DeviceArchitecture = (typeof deviceArchitectures)[number]
export const packageArchitectures = [...deviceArchitectures, 'universal'] as const
