import { contract } from '@holdfast/contract'
import type { SecuritySettings } from '@holdfast/contract/settings'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import { fail, failField, unauthorized } from '../../kernel/app-error.ts'
import { isWithin } from '../../kernel/cidr.ts'
import { type DeviceInput, type Enrolled, type EnrollmentAdmission, refuseOpenly } from './admission.ts'
import { reasonOfRefusal, withAttemptReason } from './attempt-reasons.ts'
import type { RecordAttempts } from './attempts.ts'
import type { Undone } from './batch.ts'
import type { ReadKey } from './proven-key.ts'

/** Enrollment by token: the checks of a single request, before it joins the batch of its tenant. */
export const createEnroll =
  ({
    settings,
    readKey,
    admit,
    attempts,
  }: {
    settings: (tenant: TenantId) => SecuritySettings | Promise<SecuritySettings>
    readKey: ReadKey
    admit: EnrollmentAdmission
    attempts: Pick<RecordAttempts, 'note'>
  }) =>
  async (
    actor: Actor<'enrollment_token'>,
    { device, public_key }: { device: DeviceInput; public_key?: object },
  ): Promise<Enrolled> => {
    const { id: tokenId, presented, terms } = actor.principal
    const rules = (await settings(actor.tenantId)).devices
    const key = withAttemptReason('key_proof_invalid', () =>
      readKey(presented, contract.enroll, { key: public_key, field: 'public_key' }),
    )
    if (!key && rules.require_device_key)
      withAttemptReason('key_proof_missing', () =>
        failField(
          'DPoP',
          'prove the device key with a DPoP header (RFC 9449) whose ath is the hash of the enrollment token',
        ),
      )
    if (!key && public_key)
      withAttemptReason('key_proof_missing', () =>
        failField('public_key', 'is not proven: send a DPoP proof made with this key'),
      )
    if (terms.kind === 'bootstrap')
      withAttemptReason('bootstrap_token', () => fail('forbidden', 'a bootstrap token cannot enroll a device'))
    if (terms.platforms.length > 0 && !terms.platforms.includes(device.platform))
      withAttemptReason('wrong_platform', () =>
        fail('forbidden', `this enrollment token allows only devices with ${terms.platforms.join(', ')}`),
      )
    requireAllowedAddress(actor)

    const enrolled = await admit(actor, { method: 'token', tokenId, userId: terms.user_id }, key, { terms, device })
    if ('refused' in enrolled)
      return withAttemptReason(reasonOfRefusal(enrolled.refused), () => refuse(enrolled.refused, terms))
    const outcome = enrolled.status === 'pending' ? 'waiting_for_approval' : 'enrolled'
    if (actor.sourceIp !== null)
      attempts.note({
        tenantId: actor.tenantId,
        tokenId,
        sourceIp: actor.sourceIp,
        platform: device.platform,
        outcome,
      })
    return enrolled
  }
function refuse(refused: Undone['refused'], terms: Parameters<typeof refuseOpenly>[1]): never {
  if (refused === 'user_gone') fail('forbidden', 'the user of this enrollment token is suspended, locked or deleted')
  refuseOpenly(refused, terms)
  return unauthorized()
}

/** Refuses a token used from an address outside its networks. */
export function requireAllowedAddress({ principal, sourceIp }: Actor<'enrollment_token'>): void {
  const { allowed_cidrs } = principal.terms
  if (allowed_cidrs.length > 0 && !isWithin(sourceIp, allowed_cidrs))
    withAttemptReason('address_not_allowed', () =>
      fail('forbidden', 'this enrollment token is not allowed from this address'),
    )
}
export type Enroll = ReturnType<typeof createEnroll>
