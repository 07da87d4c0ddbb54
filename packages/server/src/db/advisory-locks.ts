/**
 * Numbers of the advisory locks. Each has one use, because two uses of a number wait for each other. The functions of
 * migrations take 7264404, 7264490 and 7264491. A number never changes without need: during an update the previous
 * version still takes it.
 */

/** Locks with one key. */
export const databaseLocks = {
  migration: 7_264_401,
  bootstrap: 7_264_402,
  newTenants: 7_264_409,
  license: 7_264_410,
  // Not the same lock as a pair of keys that begins with this number.
  masterKeys: 7_264_413,
} as const

/** First keys of locks with two keys. The second one is a tenant, a job or a bucket. */
export const keyedLocks = {
  job: 7_264_403,
  newSessions: 7_264_405,
  tunnelKeys: 7_264_406,
  newDeviceGrants: 7_264_407,
  newDirectorySources: 7_264_408,
  keyReaders: 7_264_411,
  keyWriters: 7_264_412,
  postureVerdicts: 7_264_413,
  newSavedViews: 7_264_431,
  waitingDevices: 7_264_433,
  newSiemConnectors: 7_264_434,
  newPolicyDrafts: 7_264_435,
} as const
