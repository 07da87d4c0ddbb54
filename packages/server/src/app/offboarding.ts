import type { Access } from '../modules/access/index.ts'
import type { createCertificates } from '../modules/certificates/index.ts'
import type { createDevices } from '../modules/devices/index.ts'
import type { createEnrollment } from '../modules/enrollment/index.ts'
import type { Federation } from '../modules/federation/index.ts'
import type { Gateways } from '../modules/gateways/index.ts'
import type { Identity } from '../modules/identity/index.ts'
import type { OffboardingParts } from '../modules/offboarding/index.ts'

/** The modules that keep what gives access. Some are made after `offboarding`, which they use. */
type Keepers = {
  access: Pick<Access, 'endKeysOf' | 'keysOfUser'>
  certificates: Pick<ReturnType<typeof createCertificates>, 'revokeOf'>
  gateways: Pick<Gateways, 'endVpnSessions'>
  identity: Pick<Identity, 'endAccess'>
  federation: Pick<Federation, 'endLinksOf'>
  enrollment: Pick<ReturnType<typeof createEnrollment>, 'endTokensOf'>
  devices: Pick<ReturnType<typeof createDevices>, 'endDevicesOf'>
}

/** The parts that end when a person or a device is stopped for good. Each module ends its own part. */
export const offboardingParts =
  (accessOwners: () => Keepers): (() => OffboardingParts) =>
  () => {
    const { access, certificates, gateways, identity, federation, enrollment, devices } = accessOwners()
    return {
      ...identity.endAccess,
      linked_accounts: federation.endLinksOf,
      api_keys: access.endKeysOf,
      keys_made: access.keysOfUser.endIn,
      enrollment_tokens: enrollment.endTokensOf,
      devices: devices.endDevicesOf,
      certificates: certificates.revokeOf,
      vpn_sessions: gateways.endVpnSessions,
    }
  }
