import { contract } from '@holdfast/contract'
import type { SecuritySettings } from '@holdfast/contract/settings'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import { fail, failField, unauthorized } from '../../kernel/app-error.ts'
import { isWithin } from '../../kernel/cidr.ts'
import { type Admission, type DeviceInput, type Enrolled, refuseOpenly } from './admission.ts'
import type { ReadKey } from './proven-key.ts'

/** By an enrollment token: what one request can settle alone, before it joins the others that want the same token. */
export const createEnroll =
  ({
    settings,
    readKey,
    admit,
  }: {
    settings: (tenant: TenantId) => SecuritySettings | Promise<SecuritySettings>
    readKey: ReadKey
    admit: Admission
  }) =>
  async (
    actor: Actor<'enrollment_token'>,
    { device, public_key }: { device: DeviceInput; public_key?: object },
  ): Promise<Enrolled> => {
    const { id: tokenId, presented, terms } = actor.principal
    const rules = (await settings(actor.tenantId)).devices
    const key = readKey(presented, contract.enroll, { key: public_key, field: 'public_key' })
    if (!key && rules.require_device_key)
      failField(
        'DPoP',
        'prove the device key with a DPoP header (RFC 9449) whose ath is the hash of the enrollment token',
      )
    if (!key && public_key) failField('public_key', 'is not proven: send a DPoP header made with it')
    if (terms.kind === 'bootstrap') fail('forbidden', 'a bootstrap token can not enroll a device')
    if (terms.platforms.length > 0 && !terms.platforms.includes(device.platform))
      fail('forbidden', `this enrollment token is for ${terms.platforms.join(', ')}`)
    if (terms.allowed_cidrs.length > 0 && !isWithin(actor.sourceIp, terms.allowed_cidrs))
      fail('forbidden', 'this enrollment token can not be used from this address')

    const enrolled = await admit(actor, { method: 'token', tokenId, userId: terms.user_id }, key, { terms, device })
    if (!('refused' in enrolled)) return enrolled
    if (enrolled.refused === 'user_gone')
      fail('forbidden', 'the user of this enrollment token is suspended, locked or deleted')
    refuseOpenly(enrolled.refused, terms)
    return unauthorized()
  }
export type Enroll = ReturnType<typeof createEnroll>
