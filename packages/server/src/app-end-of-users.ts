import type { Access } from './modules/access/index.ts'
import type { createDevices } from './modules/devices/index.ts'
import type { createEnrollment } from './modules/enrollment/index.ts'
import type { Federation } from './modules/federation/index.ts'
import type { IdentityDeps } from './modules/identity/index.ts'

/** Made after `identity`, which ends what they keep of a user. */
type Later = {
  federation: Pick<Federation, 'endLinksOf'>
  enrollment: Pick<ReturnType<typeof createEnrollment>, 'endTokensOf'>
  devices: Pick<ReturnType<typeof createDevices>, 'endOfUsers'>
}

/** What of a user other modules keep, and how it ends. */
export const endOfUsers = (access: Pick<Access, 'endKeysOf'>, later: () => Later): IdentityDeps['endOfUsers'] => ({
  linked_accounts: (...given) => later().federation.endLinksOf(...given),
  api_keys: access.endKeysOf,
  enrollment_tokens: (...given) => later().enrollment.endTokensOf(...given),
  devices: (...given) => later().devices.endOfUsers(...given),
})
