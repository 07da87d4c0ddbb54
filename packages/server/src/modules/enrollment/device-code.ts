import { contract, type Endpoint } from '@holdfast/contract'
import type { Hold } from '../../http/answer/representation.ts'
import type { Actor } from '../../kernel/actor.ts'
import { failField, tooMany } from '../../kernel/app-error.ts'
import { createRateLimiter } from '../../kernel/rate-limit.ts'
import { minute } from '../../kernel/time.ts'
import type { Federation } from '../federation/index.ts'
import type { DeviceInput, Enrolled } from './admission.ts'
import { noProof } from './enroll-oidc.ts'
import type { ProvenKey, ReadKey } from './proven-key.ts'
import type { ProviderEnrollment } from './provider-enrollment.ts'

/** A grant ends this much earlier than its challenge, so that the machine still learns of it. */
const earlier = minute
/** Request limit of one machine. The provider is polled at its own interval, independent of this. */
const asksPerMinute = 300

/**
 * Enrollment by a device authorization grant (RFC 8628), for a machine without a browser: a person approves it at the
 * identity provider, on another screen. No nonce can bind the provider's answer to the machine's key. Therefore the
 * server holds the grant: the machine has a challenge, proves its key with every request, and sees neither the
 * provider's code nor its tokens.
 */
export function createDeviceCode({
  federation: { deviceGrants },
  readKey,
  providerEnrollment,
}: {
  federation: Pick<Federation, 'deviceGrants'>
  readKey: ReadKey
  providerEnrollment: ProviderEnrollment
}) {
  const pollLimiter = createRateLimiter()
  const method = 'device_code'
  type Machine = Actor<'enrollment_challenge'>

  const keyOf = (actor: Machine, { path }: Pick<Endpoint, 'path'>, public_key?: object): Promise<ProvenKey> => {
    const { presented } = actor.principal
    const expectedKey = { key: public_key, field: 'public_key' }
    return providerEnrollment.provenKey(
      (reason) => refuse(actor, reason),
      // A HEAD is handled as a GET, but its proof names HEAD.
      () => readKey(presented, { method: presented.method, path }, expectedKey) ?? failField('DPoP', noProof),
    )
  }
  /** Refuses before a provider is known. Such refusals count against the address's limit of failed enrollments. */
  async function refuse(actor: Machine, reason: string): Promise<never> {
    await providerEnrollment.requireFew(actor)
    return providerEnrollment.refusing(actor, { method, providerId: undefined })(reason)
  }
  const grantOf = ({ principal }: Machine, { jkt }: ProvenKey) => ({ ticket: principal.digest, jkt })

  return {
    begin: async (
      actor: Machine,
      { providerId, public_key }: { providerId: string | undefined; public_key?: object },
    ) => {
      await providerEnrollment.requireFew(actor)
      // An unauthenticated caller does not learn whether an ID exists.
      if (providerId === undefined) return refuse(actor, 'unknown_provider')
      const key = await keyOf(actor, contract.beginDeviceCode, public_key)
      const until = new Date(actor.principal.expiresAt.getTime() - earlier)
      const begun = await deviceGrants.begin(actor, grantOf(actor, key), { providerId, until })
      return 'refused' in begun ? providerEnrollment.refusing(actor, { method, providerId })(begun.refused) : begun
    },

    status: async (actor: Machine, hold: Hold | undefined) => {
      const key = await keyOf(actor, contract.deviceCodeStatus)
      const wait = pollLimiter.take(`${actor.tenantId} ${actor.id}`, asksPerMinute, performance.now())
      if (wait > 0) throw tooMany('polls by this machine', wait)
      return (await deviceGrants.statusOf(actor, grantOf(actor, key), hold)) ?? refuse(actor, 'unknown_request')
    },

    finish: async (
      actor: Machine,
      { device, public_key }: { device: DeviceInput; public_key?: object },
    ): Promise<Enrolled> => {
      await providerEnrollment.requireFew(actor)
      const key = await keyOf(actor, contract.enrollByDeviceCode, public_key)
      const candidate =
        (await deviceGrants.approver(actor, grantOf(actor, key))) ?? (await refuse(actor, 'unknown_request'))
      if ('status' in candidate) return failField('challenge', `this machine was not approved: ${candidate.status}`)
      const by = { method, providerId: candidate.providerId } as const
      const refuseBy = providerEnrollment.refusing(actor, by)
      if ('refused' in candidate) return refuseBy(candidate.refused)
      return providerEnrollment.enroll(actor, by, { key, candidate, device }, refuseBy)
    },
  }
}
export type DeviceCode = ReturnType<typeof createDeviceCode>
