import type { EnrollmentMethod } from '@holdfast/contract/vocabulary'
import { issueDeviceCredential } from '@holdfast/crypto'
import type { TenantId } from '../../kernel/actor.ts'
import { encodeId, newUuid } from '../../kernel/ids.ts'
import { day } from '../../kernel/time.ts'
import { overlayAddressesOf } from '../devices/index.ts'
import { signedLifetimes, type Trust } from '../trust/index.ts'

/** A credential without a device key is valid for a day. Renewal is due after two thirds. */
const lifetime = { dpop: signedLifetimes.credential, none: day }

type Term = { start: number; expiresAt: Date; renewAfter: Date }
export type IssuedCredential = Term & {
  credential: string
  addresses: { ipv4: string; ipv6: string }
  trustVersion: number
}

/** JWT times are whole seconds, and the row has the same times. */
export function termOf(jkt: string | null, at: Date): Term {
  const lifetimeMs = lifetime[jkt ? 'dpop' : 'none']
  const start = Math.floor(at.getTime() / 1000) * 1000
  return { start, expiresAt: new Date(start + lifetimeMs), renewAfter: new Date(start + (lifetimeMs * 2) / 3) }
}

type Holder = {
  deviceId: string
  userId: string | null
  jkt: string | null
  generation: number
  addressNumber: number
  /** Method of the original enrollment, also after renewals. */
  method: EnrollmentMethod
}

/**
 * Two steps, because a device's address is known only once the device is durable. Steps that depend on others and may
 * fail come first; the second step only signs.
 */
export const createIssuer =
  ({ trust, publicUrl }: { trust: Trust; publicUrl: string }) =>
  async (tenant: TenantId) => {
    const signer = await trust.signerFor(tenant, 'credential')
    const trustVersion = await trust.versionOf(tenant)
    return async (device: Holder, term: Term): Promise<IssuedCredential> => {
      const { start, expiresAt } = term
      const addresses = overlayAddressesOf(tenant, device.addressNumber)
      const credential = await issueDeviceCredential(signer, {
        iss: publicUrl,
        aud: [publicUrl, 'urn:holdfast:gateway'],
        sub: encodeId('device', device.deviceId),
        jti: newUuid(),
        iat: start / 1000,
        nbf: start / 1000,
        exp: expiresAt.getTime() / 1000,
        ...(device.jkt && { cnf: { jkt: device.jkt } }),
        tid: encodeId('tenant', tenant),
        ...(device.userId && { uid: encodeId('user', device.userId) }),
        gen: device.generation,
        enr: device.method,
        addresses: [addresses.ipv4, addresses.ipv6],
      })
      return { ...term, credential, addresses, trustVersion }
    }
  }
export type IssueCredential = ReturnType<typeof createIssuer>
