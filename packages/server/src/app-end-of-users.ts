import type { Access } from './modules/access/index.ts'
import type { createDevices } from './modules/devices/index.ts'
import type { createEnrollment } from './modules/enrollment/index.ts'
import type { Federation } from './modules/federation/index.ts'
import type { IdentityDeps } from './modules/identity/index.ts'

/** Modules that are created after `identity`, which ends the users' data in them. */
type Later = {
  federation: Pick<Federation, 'endLinksOf'>
  enrollment: Pick<ReturnType<typeof createEnrollment>, 'endTokensOf'>
  devices: Pick<ReturnType<typeof createDevices>, 'endOfUsers'>
}

/** Functions that end a user's credentials and devices in other modules. */
export const endOfUsers = (access: Pick<Access, 'endKeysOf'>, later: () => Later): IdentityDeps['endOfUsers'] => ({
  linked_accounts: (...given) => later().federation.endLinksOf(...given),
  api_keys: access.endKeysOf,
  enrollment_tokens: (...given) => later().enrollment.endTokensOf(...given),
  devices: (...given) => later().devices.endOfUsers(...given),
})
