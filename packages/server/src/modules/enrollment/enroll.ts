import { contract } from '@holdfast/contract'
import type { SecuritySettings } from '@holdfast/contract/settings'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import { fail, failField, unauthorized } from '../../kernel/app-error.ts'
import { isWithin } from '../../kernel/cidr.ts'
import { newUuid } from '../../kernel/ids.ts'
import type { Applicant, Outcome } from './batch.ts'
import { type Issue, type Issued, termOf } from './credential.ts'
import type { ReadKey } from './proven-key.ts'

export const wireguardKeyTaken = 'is the key of another device, or one that was given up just now: make a new one'

type EnrollInput = {
  device: {
    name: string
    platform: string
    os_version?: string
    client_version?: string
    serial?: string
    wireguard_public_key?: string
  }
  public_key?: object
}
export type Enrolled = Issued & {
  deviceId: string
  userId: string | null
  status: 'pending' | 'active'
  jkt: string | null
}

/** What one request can settle alone, before it joins the others that want the same token and the next address. */
export const createEnroll =
  ({
    settings,
    issue,
    readKey,
    join,
    now,
  }: {
    settings: (tenant: TenantId) => SecuritySettings | Promise<SecuritySettings>
    issue: Issue
    readKey: ReadKey
    join: (tenant: TenantId, applicant: Applicant) => Promise<Outcome>
    now: () => Date
  }) =>
  async (actor: Actor<'enrollment_token'>, input: EnrollInput): Promise<Enrolled> => {
    const tenant = actor.tenantId
    const { id: tokenId, presented, terms } = actor.principal
    const rules = (await settings(tenant)).devices
    const key = readKey(presented, contract.enroll, { key: input.public_key, field: 'public_key' })
    if (!key && rules.require_device_key)
      failField(
        'DPoP',
        'prove the device key with a DPoP header (RFC 9449) whose ath is the hash of the enrollment token',
      )
    if (!key && input.public_key) failField('public_key', 'is not proven: send a DPoP header made with it')
    if (terms.kind === 'bootstrap') fail('forbidden', 'a bootstrap token can not enroll a device')
    if (terms.platforms.length > 0 && !terms.platforms.includes(input.device.platform))
      fail('forbidden', `this enrollment token is for ${terms.platforms.join(', ')}`)
    if (terms.allowed_cidrs.length > 0 && !isWithin(actor.sourceIp, terms.allowed_cidrs))
      fail('forbidden', 'this enrollment token can not be used from this address')

    const at = now()
    const deviceId = newUuid()
    const by = { method: 'token', tokenId, userId: terms.user_id } as const
    const jkt = key?.jkt ?? null
    const term = termOf(jkt, at)
    const status = terms.requires_approval || rules.approval ? 'pending' : 'active'
    const sign = await issue(tenant)
    const outcome = await join(tenant, {
      source: actor,
      by,
      jkt,
      proof: key?.proof ?? null,
      maxDevicesPerUser: terms.max_devices_per_user,
      device: {
        device_id: deviceId,
        name: input.device.name,
        platform: input.device.platform,
        os_version: input.device.os_version ?? null,
        client_version: input.device.client_version ?? null,
        serial: input.device.serial ?? null,
        tags: terms.tags,
        group_ids: terms.group_ids,
        status,
        jkt,
        public_jwk: key?.jwk ?? null,
        wireguard_public_key: input.device.wireguard_public_key ?? null,
        credential_expires_at: term.expiresAt,
        credential_renew_after: term.renewAfter,
        ephemeral_seconds: terms.ephemeral_seconds,
        enrolled_at: at,
      },
    })
    if (typeof outcome !== 'number') return refuse(outcome, terms.max_devices_per_user)
    const issued = await sign(
      { deviceId, userId: by.userId, jkt, generation: 1, addressNumber: outcome, method: by.method },
      term,
    )
    return { ...issued, deviceId, userId: by.userId, status, jkt }
  }

function refuse(outcome: Exclude<Outcome, number>, maxDevicesPerUser: number | null): never {
  switch (outcome) {
    case 'token_spent':
    case 'proof_replayed':
      return unauthorized()
    case 'user_gone':
      return fail('forbidden', 'the user of this enrollment token is suspended or deleted')
    case 'too_many_devices':
      return fail(
        'entitlement_exceeded',
        `the user has ${maxDevicesPerUser} devices, which is the most that this token allows`,
      )
    case 'no_address_left':
      return fail('entitlement_exceeded', 'the tenant has used all its overlay addresses')
    case 'key_taken':
      return failField('public_key', 'is the key of another device: make a new one')
    case 'wireguard_key_taken':
      return failField('device.wireguard_public_key', wireguardKeyTaken)
  }
}
