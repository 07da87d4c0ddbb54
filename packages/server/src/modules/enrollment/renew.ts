import { contract } from '@holdfast/contract'
import type { SecuritySettings } from '@holdfast/contract/settings'
import type { DeviceArchitecture } from '@holdfast/contract/vocabulary'
import type { Database } from '../../db/database.ts'
import { mapUniqueViolation } from '../../db/unique-violation.ts'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import { fail, failField, unauthorized } from '../../kernel/app-error.ts'
import { encodeId } from '../../kernel/ids.ts'
import { hour } from '../../kernel/time.ts'
import type { Changes } from '../../replication/changes.ts'
import type { Audit } from '../audit/index.ts'
import { joining, proofExpiry, rememberProofs, renewal } from '../devices/index.ts'
import { keysOfGateways } from '../gateways/index.ts'
import { type Enrolled, wireguardKeyTaken } from './admission.ts'
import { type IssueCredential, termOf } from './credential.ts'
import type { ReadKey } from './proven-key.ts'

type RenewInput = {
  new_public_key?: object
  wireguard_public_key?: string
  os_version?: string
  client_version?: string
  arch?: DeviceArchitecture
}

const takenKey = () => failField('wireguard_public_key', wireguardKeyTaken)

/** Maximum time for which the previous generation and the previous WireGuard key stay valid beside the new ones. */
const overlap = hour

/**
 * Issues a new generation of a device's credential. With `new_public_key` it also replaces the device key, which the
 * header DPoP-New-Key must prove. The old generation ends at the first use of the new one, or after an hour. A repeated
 * request with the old generation, after a lost answer, repeats the new generation. A replaced WireGuard key is served
 * beside the new one for an hour. The tunnel therefore stays up until the first handshake with the new key.
 */
export const createRenew =
  ({
    db,
    audit,
    changes,
    issue,
    readKey,
    settings,
    now,
  }: {
    db: Database
    audit: Audit
    changes: Changes
    issue: IssueCredential
    readKey: ReadKey
    settings: (tenant: TenantId) => SecuritySettings | Promise<SecuritySettings>
    now: () => Date
  }) =>
  async (actor: Actor<'device'>, newKeyProof: unknown, input: RenewInput): Promise<Enrolled> => {
    const tenant = actor.tenantId
    const deviceId = actor.principal.id
    const { token } = actor.principal.presented
    const newKey = readKey({ token, proof: newKeyProof }, contract.renewCredential, {
      key: input.new_public_key,
      field: 'new_public_key',
    })
    if (input.new_public_key && !newKey)
      failField('new_public_key', 'is not proven: send a DPoP proof made with it in the header DPoP-New-Key')
    const before = await db.inTenant(tenant, (tx) => renewal.findForRenewal(tx, tenant, deviceId))
    if (!before) return unauthorized()
    const repeated = actor.principal.presented.generation < before.generation
    const jkt = newKey?.jkt ?? before.jkt
    if (jkt === null && (await settings(tenant)).devices.require_device_key)
      failField(
        'new_public_key',
        'the tenant now requires a device key: send a DPoP proof made with one in the header DPoP-New-Key',
      )
    const generation = repeated ? before.generation : before.generation + 1
    const at = now()
    const { user_id: userId, address_number: addressNumber, enrolled_method: method } = before
    const sign = await issue(tenant)
    const issued = await sign({ deviceId, userId, jkt, generation, addressNumber, method }, termOf(jkt, at))
    const { new_public_key: _, wireguard_public_key: key = null, ...facts } = input
    const until = new Date(at.getTime() + overlap)
    const write = () =>
      db.inTenant(tenant, async (tx) => {
        if (key !== null)
          await joining.holdTunnelKeys(tx, tenant, [
            key,
            ...(before.wireguard_public_key ? [before.wireguard_public_key] : []),
          ])
        if (newKey) {
          const [isFirst] = await rememberProofs(tx, [newKey.proof], proofExpiry(at))
          if (!isFirst) unauthorized()
        }
        const renewed = await renewal.renewDevice(
          tx,
          tenant,
          deviceId,
          before.generation,
          {
            generation,
            previous_generation_until: until,
            previous_jkt: repeated ? before.previous_jkt : before.jkt,
            jkt,
            public_jwk: newKey ? JSON.stringify(newKey.jwk) : before.public_jwk && JSON.stringify(before.public_jwk),
            credential_expires_at: issued.expiresAt,
            credential_renew_after: issued.renewAfter,
            ...facts,
          },
          { key, previousUntil: until },
          at,
        )
        if (key !== null && (await joining.givenUpKeys(tx, tenant, [key], at)).size > 0) takenKey()
        if (key !== null && (await keysOfGateways(tx, tenant, [key])).size > 0) takenKey()
        if (!renewed)
          return fail('validation_error', 'another request renewed the credential meanwhile: use the newer credential')
        const id = encodeId('device', deviceId)
        await audit.record(
          tx,
          actor,
          'device.renewed',
          { device_id: id },
          {
            target: { type: 'device', id, name: renewed.name },
            details: { generation, key_rotated: newKey !== null },
          },
        )
        await changes.record(tx, tenant, [{ kind: 'device', subject: deviceId }])
        return renewed
      })
    const row = await mapUniqueViolation(
      'wireguard_public_key',
      'wireguard_key_is_used_by_one_device',
      () =>
        mapUniqueViolation('new_public_key', 'device_key_is_used_by_one_device', write, 'is the key of another device'),
      wireguardKeyTaken,
    )
    return { ...issued, deviceId, userId: row.user_id, status: row.status as 'active' | 'pending', jkt }
  }
export type Renew = ReturnType<typeof createRenew>
