/** Vocabulary of client releases: channels, severities and states. */
export const releaseChannels = ['canary', 'stable'] as const
export const releaseSeverities = ['low', 'normal', 'high', 'critical'] as const
/**
 * Offered while `published`; `paused` only to devices that have begun; `halted` and `withdrawn` to none, permanently.
 */
export const releaseStatuses = ['draft', 'published', 'paused', 'halted', 'withdrawn'] as const
export type ReleaseStatus = (typeof releaseStatuses)[number]
export const releaseOperations = ['publish', 'pause', 'resume', 'halt', 'withdraw', 'promote', 'roll_out'] as const
export type ReleaseOperation = (typeof releaseOperations)[number]
export const packagePlatforms = ['linux', 'macos', 'windows', 'ios', 'android', 'other'] as const
/** Architectures of machines. A package may be for all of them. */
export const deviceArchitectures = ['x64', 'arm64', 'x86', 'arm'] as const
export type DeviceArchitecture = (typeof deviceArchitectures)[number]
export const packageArchitectures = [...deviceArchitectures, 'universal'] as const
