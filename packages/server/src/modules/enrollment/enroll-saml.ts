import { contract, type Endpoint } from '@holdfast/contract'
import type { Actor } from '../../kernel/actor.ts'
import { failField } from '../../kernel/app-error.ts'
import type { Federation } from '../federation/index.ts'
import type { DeviceInput, Enrolled } from './admission.ts'
import { noProof } from './enroll-oidc.ts'
import type { ProvenKey, ReadKey } from './proven-key.ts'
import type { ProviderEnrollment } from './provider-enrollment.ts'

type Machine = Actor<'enrollment_challenge'>

/**
 * Enrollment by a SAML provider. The person is sent to the provider with a request bound to the challenge and the
 * device's key. The response enrolls only that key.
 */
export function createEnrollBySaml({
  federation: { samlEnrolling },
  readKey,
  providerEnrollment,
}: {
  federation: Pick<Federation, 'samlEnrolling'>
  readKey: ReadKey
  providerEnrollment: ProviderEnrollment
}) {
  const method = 'saml'
  const keyOf = (actor: Machine, e: Pick<Endpoint, 'method' | 'path'>, public_key?: object): Promise<ProvenKey> => {
    const expectedKey = { key: public_key, field: 'public_key' }
    return providerEnrollment.provenKey(
      providerEnrollment.refusing(actor, { method, providerId: undefined }),
      () => readKey(actor.principal.presented, e, expectedKey) ?? failField('DPoP', noProof),
    )
  }
  const machineOf = ({ principal }: Machine, { jkt }: ProvenKey) => ({ ticket: principal.digest, jkt })

  return {
    begin: async (
      actor: Machine,
      {
        providerId,
        public_key,
        redirectUri,
      }: { providerId: string | undefined; redirectUri: string; public_key?: object },
    ) => {
      await providerEnrollment.requireFew(actor)
      // An unauthenticated caller does not learn whether an ID exists.
      if (providerId === undefined)
        return providerEnrollment.refusing(actor, { method, providerId })('unknown_provider')
      const samlRequest = { providerId, redirectUri }
      const key = await keyOf(actor, contract.beginEnrollmentBySaml, public_key)
      const until = actor.principal.expiresAt
      const begun = await samlEnrolling.begin(actor, machineOf(actor, key), { ...samlRequest, until })
      return 'refused' in begun
        ? providerEnrollment.refusing(actor, { method, providerId: samlRequest.providerId })(begun.refused)
        : begun
    },

    finish: async (
      actor: Machine,
      {
        device,
        public_key,
        ...answer
      }: {
        requestId: string
        samlResponse: string
        device: DeviceInput
        public_key?: object
      },
    ): Promise<Enrolled> => {
      await providerEnrollment.requireFew(actor)
      const key = await keyOf(actor, contract.enrollBySaml, public_key)
      const candidate = await samlEnrolling.identify(actor, machineOf(actor, key), answer)
      const { providerId } = candidate
      const refuse = providerEnrollment.refusing(actor, { method, providerId })
      if ('refused' in candidate) return refuse(candidate.refused)
      return providerEnrollment.enroll(
        actor,
        { method, providerId: candidate.providerId },
        { key, candidate, device },
        refuse,
      )
    },
  }
}
export type EnrollBySaml = ReturnType<typeof createEnrollBySaml>
