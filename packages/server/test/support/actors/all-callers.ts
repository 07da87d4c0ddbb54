import type { Endpoint } from '@holdfast/contract'
import type { CredentialKind, Role } from '@holdfast/contract/vocabulary'
import { contentDigest } from '@holdfast/crypto'
import { bearer, type Caller, call } from '../clients/api-calls.ts'
import type { Kit } from '../deployment/deployment.ts'
import { requestChallenge } from './devices.ts'
import { makeSampleObjects, type SampleObjects } from './sample-objects.ts'
import { adminSession } from './sign-in.ts'

/** SCIM requests need the key of a directory; other requests use `otherwise`. */
export const callerFor = ({ protocol }: Endpoint, own: SampleObjects, otherwise: Caller): Caller =>
  protocol === 'scim' ? own.provisioner : otherwise

/** A deployment with a caller of every credential kind, and a second tenant whose objects must stay invisible. */
export async function createAllCallers(kit: Kit) {
  const own = await makeSampleObjects(kit, kit.admin)
  const foreign = await kit.newTenant()
  const others = await makeSampleObjects(kit, await kit.as('tenant_admin', foreign))
  const session = await adminSession(kit)
  const { secret: spare } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const callers: Record<CredentialKind, Caller> = {
    session,
    api_key: bearer(kit.adminKey),
    device: own.device.caller,
    gateway: bearer(own.secret),
    enrollment_token: bearer(spare),
    enrollment_challenge: bearer(await requestChallenge(kit, bearer(spare))),
  }
  const keys = new Map<Role, Caller>()
  return {
    own,
    others,
    foreign,
    callers,
    byRole: async (role: Role): Promise<Caller> => {
      const known = keys.get(role) ?? bearer(await kit.keyFor(role))
      keys.set(role, known)
      return known
    },
  }
}
export type AllCallers = Awaited<ReturnType<typeof createAllCallers>>

/** The digest of the single chunk that contains the own pool's few peers. */
export const ownPeerChunk = async (kit: Kit, { callers }: AllCallers): Promise<string> => {
  const path = '/v1/gateway/runtime/unified-policy'
  const { policy } = (await call(kit, { method: 'GET', path }, callers.gateway)).json as { policy: string }
  const { peers } = JSON.parse(Buffer.from(policy.split('.')[1] ?? '', 'base64url').toString())
  return contentDigest({ peers })
}
