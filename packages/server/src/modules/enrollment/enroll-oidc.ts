import { contract } from '@holdfast/contract'
import { enrollmentNonce } from '@holdfast/crypto'
import type { Actor } from '../../kernel/actor.ts'
import { failField } from '../../kernel/app-error.ts'
import type { EnrollmentGrant, Federation } from '../federation/index.ts'
import type { DeviceInput, Enrolled } from './admission.ts'
import type { ReadKey } from './proven-key.ts'
import type { ProviderEnrollment } from './provider-enrollment.ts'

type OidcInput = {
  providerId: string | undefined
  id_token?: string
  code?: string
  code_verifier?: string
  redirect_uri?: string
  client_id?: string
  iss?: string
  device: DeviceInput
  public_key?: object
}

/**
 * Enrollment by an OpenID Connect provider. The ID token identifies the person. Its nonce binds it to one challenge and
 * one device key, so a stolen token enrolls nothing. Until the challenge and the key are proved, a request costs two
 * hashes and a signature check.
 */
export const createEnrollByOidc =
  ({
    federation,
    readKey,
    providerEnrollment,
  }: {
    federation: Pick<Federation, 'identify'>
    readKey: ReadKey
    providerEnrollment: ProviderEnrollment
  }) =>
  async (actor: Actor<'enrollment_challenge'>, input: OidcInput): Promise<Enrolled> => {
    const { presented } = actor.principal
    const { providerId, device, public_key } = input
    const refuse = providerEnrollment.refusing(actor, { method: 'oidc', providerId })
    await providerEnrollment.requireFew(actor)
    // An unauthenticated caller does not learn whether an ID exists.
    if (providerId === undefined) return refuse('unknown_provider')
    const by = { method: 'oidc', providerId } as const
    const expectedKey = { key: public_key, field: 'public_key' }
    const key = await providerEnrollment.provenKey(
      refuse,
      () => readKey(presented, contract.enrollByOidc, expectedKey) ?? failField('DPoP', noProof),
    )
    const nonce = enrollmentNonce(presented.token, key.jkt)
    const candidate = await federation.identify(actor, providerId, { ...grantOf(input), nonce })
    if ('refused' in candidate) return refuse(candidate.refused)
    return providerEnrollment.enroll(actor, by, { key, candidate, device }, refuse)
  }
export type EnrollByOidc = ReturnType<typeof createEnrollByOidc>

export const noProof = 'prove the device key with a DPoP header (RFC 9449) whose ath is the hash of the challenge'

/** Reads an ID token, or a code issued to one of our applications to get one. */
function grantOf({ id_token, code, code_verifier, redirect_uri, client_id, iss }: OidcInput): EnrollmentGrant {
  const ofCode = { code, code_verifier, redirect_uri, client_id }
  const extraField = Object.entries({ ...ofCode, iss }).find(([, value]) => value !== undefined)
  if (id_token !== undefined) {
    if (extraField) failField(extraField[0], 'is allowed only with code: remove it, because id_token is given')
    return { idToken: id_token }
  }
  const absent = (field: string): never => failField(field, 'is required: give id_token, or code with its other fields')
  return {
    code: code ?? absent(extraField ? 'code' : 'id_token'),
    verifier: code_verifier ?? absent('code_verifier'),
    redirectUri: redirect_uri ?? absent('redirect_uri'),
    clientId: client_id ?? absent('client_id'),
    iss,
  }
}
