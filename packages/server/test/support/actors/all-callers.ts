import type { Endpoint } from '@holdfast/contract'
import type { CredentialKind, Role } from '@holdfast/contract/vocabulary'
import { contentDigest } from '@holdfast/crypto'
import { bearer, type Caller, call } from '../clients/api-calls.ts'
import type { Kit } from '../deployment/deployment.ts'
import { challengeFrom } from './devices.ts'
import { type Population, populate } from './sample-objects.ts'
import { sessionOn } from './sign-in.ts'

/** SCIM requests need the key of a directory; other requests use `otherwise`. */
export const speaking = ({ protocol }: Endpoint, own: Population, otherwise: Caller): Caller =>
  protocol === 'scim' ? own.provisioner : otherwise

/** A deployment with a caller of every credential kind, and a second tenant whose objects must stay invisible. */
export async function createWorld(kit: Kit) {
  const own = await populate(kit, kit.admin)
  const foreign = await kit.newTenant()
  const others = await populate(kit, await kit.as('tenant_admin', foreign))
  const session = await sessionOn(kit)
  const { secret: spare } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const callers: Record<CredentialKind, Caller> = {
    session,
    api_key: bearer(kit.adminKey),
    device: own.device.caller,
    gateway: bearer(own.secret),
    enrollment_token: bearer(spare),
    enrollment_challenge: bearer(await challengeFrom(kit, bearer(spare))),
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
export type World = Awaited<ReturnType<typeof createWorld>>

/** The digest of the single chunk that contains the own pool's few peers. */
export const chunkOf = async (kit: Kit, { callers }: World): Promise<string> => {
  const path = '/v1/gateway/runtime/unified-policy'
  const { policy } = (await call(kit, { method: 'GET', path }, callers.gateway)).json as { policy: string }
  const { peers } = JSON.parse(Buffer.from(policy.split('.')[1] ?? '', 'base64url').toString())
  return contentDigest({ peers })
}
