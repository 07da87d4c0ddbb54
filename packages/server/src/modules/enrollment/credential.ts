import { issueDeviceCredential } from '@holdfast/crypto'
import type { TenantId } from '../../kernel/actor.ts'
import { encodeId, newUuid } from '../../kernel/ids.ts'
import { day } from '../../kernel/time.ts'
import type { Trust } from '../trust/index.ts'

/** 30 days with a key, one day without; renewed after two thirds. */
const lifetime = { dpop: 30 * day, none: day }

export type Issued = { credential: string; expiresAt: Date; renewAfter: Date }

export const createIssuer =
  ({ trust, publicUrl }: { trust: Trust; publicUrl: string }) =>
  async (
    device: { tenant: TenantId; deviceId: string; userId: string | null; jkt: string | null; generation: number },
    at: Date,
  ): Promise<Issued> => {
    const life = lifetime[device.jkt ? 'dpop' : 'none']
    // JWT times are whole seconds; the row says the same.
    const start = Math.floor(at.getTime() / 1000) * 1000
    const expiresAt = new Date(start + life)
    const credential = await issueDeviceCredential(await trust.signerFor(device.tenant, 'credential'), {
      iss: publicUrl,
      aud: [publicUrl, 'urn:holdfast:gateway'],
      sub: encodeId('device', device.deviceId),
      jti: newUuid(),
      iat: start / 1000,
      nbf: start / 1000,
      exp: expiresAt.getTime() / 1000,
      ...(device.jkt && { cnf: { jkt: device.jkt } }),
      tid: encodeId('tenant', device.tenant),
      ...(device.userId && { uid: encodeId('user', device.userId) }),
      gen: device.generation,
      enr: 'token',
    })
    return { credential, expiresAt, renewAfter: new Date(start + (life * 2) / 3) }
  }
export type Issue = ReturnType<typeof createIssuer>
