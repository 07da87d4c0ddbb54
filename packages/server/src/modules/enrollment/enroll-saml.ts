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
  vouching,
}: {
  federation: Pick<Federation, 'samlEnrolling'>
  readKey: ReadKey
  vouching: ProviderEnrollment
}) {
  const method = 'saml'
  const keyOf = (actor: Machine, e: Pick<Endpoint, 'method' | 'path'>, public_key?: object): Promise<ProvenKey> => {
    const given = { key: public_key, field: 'public_key' }
    return vouching.provenKey(
      vouching.refusing(actor, { method, providerId: undefined }),
      () => readKey(actor.principal.presented, e, given) ?? failField('DPoP', noProof),
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
      await vouching.requireFew(actor)
      // An unauthenticated caller does not learn whether an ID exists.
      if (providerId === undefined) return vouching.refusing(actor, { method, providerId })('unknown_provider')
      const asked = { providerId, redirectUri }
      const key = await keyOf(actor, contract.beginEnrollmentBySaml, public_key)
      const until = actor.principal.expiresAt
      const begun = await samlEnrolling.begin(actor, machineOf(actor, key), { ...asked, until })
      return 'refused' in begun
        ? vouching.refusing(actor, { method, providerId: asked.providerId })(begun.refused)
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
      await vouching.requireFew(actor)
      const key = await keyOf(actor, contract.enrollBySaml, public_key)
      const newcomer = await samlEnrolling.identify(actor, machineOf(actor, key), answer)
      const { providerId } = newcomer
      const refuse = vouching.refusing(actor, { method, providerId })
      if ('refused' in newcomer) return refuse(newcomer.refused)
      return vouching.enroll(actor, { method, providerId: newcomer.providerId }, { key, newcomer, device }, refuse)
    },
  }
}
export type EnrollBySaml = ReturnType<typeof createEnrollBySaml>
