import type { SecuritySettings } from '@holdfast/contract/settings'
import type { DeviceArchitecture } from '@holdfast/contract/vocabulary'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import { fail, failField } from '../../kernel/app-error.ts'
import { newUuid } from '../../kernel/ids.ts'
import type { By } from './allocate.ts'
import type { AllocationOutcome, Batches, Undone, VerifiedApplicant } from './batch.ts'
import { type IssueCredential, type IssuedCredential, termOf } from './credential.ts'
import type { ProvenKey } from './proven-key.ts'

export const wireguardKeyTaken =
  'is the key of another device or of a gateway, or was replaced less than an hour ago: generate a new key'

/** Properties reported by the device. */
export type DeviceInput = {
  name: string
  platform: string
  os_version?: string
  client_version?: string
  arch?: DeviceArchitecture
  serial?: string
  wireguard_public_key?: string
}
/** Conditions set by the enrollment method. */
type Terms = {
  readonly tags: string[]
  readonly group_ids: string[]
  readonly requires_approval: boolean
  readonly ephemeral_seconds: number | null
  readonly max_devices_per_user: number | null
}
export type Enrolled = IssuedCredential & {
  deviceId: string
  userId: string | null
  status: 'pending' | 'active'
  jkt: string | null
}
/** Enrollment by token, or by an identity provider. */
type Way = Extract<By, { method: 'token' }> | VerifiedApplicant

/** Last step of every enrollment: stores the device and issues its first credential. */
export const createAdmission =
  ({
    settings,
    issue,
    batches,
    now,
    deviceWaits,
  }: {
    settings: (tenant: TenantId) => SecuritySettings | Promise<SecuritySettings>
    issue: IssueCredential
    batches: Batches
    now: () => Date
    deviceWaits: (tenant: TenantId) => void
  }) =>
  async (
    actor: Actor,
    way: Way,
    key: ProvenKey | null,
    { terms, device }: { terms: Terms; device: DeviceInput },
  ): Promise<Enrolled | Undone> => {
    const tenant = actor.tenantId
    const { approval } = (await settings(tenant)).devices
    const at = now()
    const deviceId = newUuid()
    const jkt = key?.jkt ?? null
    const term = termOf(jkt, at)
    const status = terms.requires_approval || approval ? 'pending' : 'active'
    const sign = await issue(tenant)
    const applicant = {
      source: actor,
      jkt,
      proof: key?.proof ?? null,
      maxDevicesPerUser: terms.max_devices_per_user,
      device: {
        device_id: deviceId,
        name: device.name,
        platform: device.platform,
        os_version: device.os_version ?? null,
        client_version: device.client_version ?? null,
        arch: device.arch ?? null,
        serial: device.serial ?? null,
        tags: terms.tags,
        group_ids: terms.group_ids,
        status,
        jkt,
        public_jwk: key?.jwk ?? null,
        wireguard_public_key: device.wireguard_public_key ?? null,
        credential_expires_at: term.expiresAt,
        credential_renew_after: term.renewAfter,
        ephemeral_seconds: terms.ephemeral_seconds,
        enrolled_at: at,
      },
    } as const
    const joined =
      way.method === 'token'
        ? await batches.join(tenant, { ...applicant, by: way }).then((outcome) => joinedByToken(way.userId, outcome))
        : await batches.joinVouched(tenant, { ...applicant, by: way })
    if ('refused' in joined) return joined
    const { userId, addressNumber } = joined
    if (status === 'pending') deviceWaits(tenant)
    const holder = { deviceId, userId, jkt, generation: 1, addressNumber, method: way.method }
    return { ...(await sign(holder, term)), deviceId, userId, status, jkt }
  }
export type EnrollmentAdmission = ReturnType<typeof createAdmission>

const joinedByToken = (
  userId: string | null,
  outcome: AllocationOutcome,
): { userId: string | null; addressNumber: number } | Undone =>
  typeof outcome === 'number' ? { userId, addressNumber: outcome } : { refused: outcome, userId: userId ?? undefined }

/** Explains refusals that an authorized caller may know. Returns for all others, which the caller must handle. */
export function refuseOpenly(refusal: Undone['refused'], { max_devices_per_user: most }: Terms): void {
  if (refusal === 'too_many_devices')
    fail(
      'entitlement_exceeded',
      `the user has ${most} devices, which is the maximum of this token or identity provider: revoke a device first`,
    )
  if (refusal === 'no_place_left')
    fail(
      'entitlement_exceeded',
      'the tenant has reached the limit of its plan for users or devices: remove some, or ask for a higher limit',
    )
  if (refusal === 'no_address_left')
    fail('entitlement_exceeded', 'the tenant has no free overlay address: delete devices that are not needed')
  if (refusal === 'key_taken') failField('public_key', 'is the key of another device: generate a new key')
  if (refusal === 'wireguard_key_taken') failField('device.wireguard_public_key', wireguardKeyTaken)
}
