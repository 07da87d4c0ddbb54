import type { SecuritySettings } from '@holdfast/contract/settings'
import {
  CryptoError,
  type PublicJwk,
  parsePublicJwk,
  peekDeviceCredential,
  proofKey,
  thumbprint,
  verifyProof,
} from '@holdfast/crypto'
import type { Changes } from '../../db/changes.ts'
import type { Database, Tx } from '../../db/database.ts'
import type { RequestFacts } from '../../http/serve.ts'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import { fail, failField } from '../../kernel/app-error.ts'
import { isWithin } from '../../kernel/cidr.ts'
import { encodeId, newUuid } from '../../kernel/ids.ts'
import type { Audit } from '../audit/index.ts'
import { addressCapacity, proofSeconds, rememberProofs } from '../devices/index.ts'
import type { Issue, Issued } from './credential.ts'
import * as queries from './enroll.queries.ts'
import { consumeToken, findToken } from './tokens.queries.ts'

export type EnrollInput = {
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
export type RenewInput = {
  new_public_key?: object
  wireguard_public_key?: string
  os_version?: string
  client_version?: string
}
export type Enrolled = Issued & {
  deviceId: string
  userId: string | null
  status: 'pending' | 'active'
  jkt: string | null
}

type ProvenKey = { jkt: string; jwk: PublicJwk; proof: Buffer }

const unauthorized = () => fail('unauthorized', 'missing or invalid credentials')
const hour = 3_600_000

async function spendProof(tx: Tx, proof: Buffer, at: Date): Promise<void> {
  const [isFirst] = await rememberProofs(tx, [proof], new Date(at.getTime() + 2 * proofSeconds * 1000))
  if (!isFirst) unauthorized()
}

export function createEnroll({
  db,
  audit,
  changes,
  settings,
  issue,
  publicUrl,
  now,
}: {
  db: Database
  audit: Audit
  changes: Changes
  settings: (tenant: TenantId) => SecuritySettings | Promise<SecuritySettings>
  issue: Issue
  publicUrl: string
  now: () => Date
}) {
  /** The key that a DPoP header proves over a token. Anything wrong with the proof is the same 401. */
  function provenKey(
    header: unknown,
    given: object | undefined,
    field: string,
    token: string,
    request: RequestFacts,
  ): ProvenKey | null {
    if (header === undefined) return null
    if (typeof header !== 'string') return unauthorized()
    try {
      const proof = verifyProof({
        proofs: header,
        method: request.method,
        url: publicUrl + request.path,
        accessToken: token,
        now: now(),
        maxAgeSeconds: proofSeconds,
      })
      if (given && thumbprint(parsePublicJwk(given)) !== proof.jkt)
        failField(field, 'is not the key that the DPoP proof was made with')
      return { jkt: proof.jkt, jwk: proof.publicJwk, proof: proofKey(proof.jkt, proof.jti) }
    } catch (e) {
      if (e instanceof CryptoError) return unauthorized()
      throw e
    }
  }

  return {
    enroll: async (actor: Actor, token: string, input: EnrollInput, request: RequestFacts): Promise<Enrolled> => {
      const tenant = actor.tenantId
      const rules = (await settings(tenant)).devices
      const key = provenKey(request.headers.dpop, input.public_key, 'public_key', token, request)
      if (!key && rules.require_device_key)
        failField(
          'DPoP',
          'prove the device key with a DPoP header (RFC 9449) whose ath is the hash of the enrollment token',
        )
      if (!key && input.public_key) failField('public_key', 'is not proven: send a DPoP header made with it')
      const terms = await db.inTenant(tenant, (tx) => findToken(tx, tenant, actor.principal.id))
      if (!terms) return unauthorized()
      if (terms.kind === 'bootstrap') fail('forbidden', 'a bootstrap token can not enroll a device')
      if (terms.platforms.length > 0 && !terms.platforms.includes(input.device.platform))
        fail('forbidden', `this enrollment token is for ${terms.platforms.join(', ')}`)
      if (terms.allowed_cidrs.length > 0 && !isWithin(request.sourceIp, terms.allowed_cidrs))
        fail('forbidden', 'this enrollment token can not be used from this address')

      const at = now()
      const deviceId = newUuid()
      const userId = terms.user_id
      const jkt = key?.jkt ?? null
      const issued = await issue({ tenant, deviceId, userId, jkt, generation: 1 }, at)
      const status = terms.requires_approval || rules.approval ? 'pending' : 'active'

      await db.inTenant(tenant, async (tx) => {
        if (!(await consumeToken(tx, tenant, terms.token_id, at))) unauthorized()
        if (key) await spendProof(tx, key.proof, at)
        if (
          userId &&
          terms.max_devices_per_user !== null &&
          (await queries.countDevicesOfUser(tx, tenant, userId)) >= terms.max_devices_per_user
        )
          fail(
            'entitlement_exceeded',
            `the user has ${terms.max_devices_per_user} devices, which is the most that this token allows`,
          )
        const id = encodeId('device', deviceId)
        const tokenId = encodeId('enrollment_token', terms.token_id)
        const number = await queries.takeAddress(tx, tenant)
        if (number > addressCapacity) fail('entitlement_exceeded', 'the tenant has used all its overlay addresses')
        const inserted = await queries.insertDevice(tx, {
          tenant_id: tenant,
          device_id: deviceId,
          user_id: userId,
          name: input.device.name,
          platform: input.device.platform,
          os_version: input.device.os_version ?? null,
          client_version: input.device.client_version ?? null,
          serial: input.device.serial ?? null,
          tags: terms.tags,
          group_ids: terms.group_ids,
          status,
          jkt,
          public_jwk: key ? JSON.stringify(key.jwk) : null,
          wireguard_public_key: input.device.wireguard_public_key ?? null,
          address_number: number,
          credential_expires_at: issued.expiresAt,
          credential_renew_after: issued.renewAfter,
          enrolled_method: 'token',
          token_id: terms.token_id,
          ephemeral_seconds: terms.ephemeral_seconds,
          enrolled_at: at,
        })
        if (!inserted) failField('public_key', 'is the key of another device: make a new one')
        await audit.record(
          tx,
          actor,
          'device.enrolled',
          { device_id: id, token_id: tokenId },
          {
            target: { type: 'device', id, name: input.device.name },
            details: { binding: jkt ? 'dpop' : 'none', status },
          },
        )
        await changes.record(tx, tenant, [{ kind: 'device', subject: deviceId }])
      })
      return { ...issued, deviceId, userId, status, jkt }
    },

    /**
     * A new generation of the credential, by its holder; with `new_public_key` also of its key, which proves itself in
     * the header DPoP-New-Key. The old generation ends at the first use of the new one, or after an hour. Asked again
     * with the old one (an answer was lost), it repeats the new generation.
     */
    renew: async (actor: Actor, token: string, input: RenewInput, request: RequestFacts): Promise<Enrolled> => {
      const tenant = actor.tenantId
      const deviceId = actor.principal.id
      const newKey = provenKey(request.headers['dpop-new-key'], input.new_public_key, 'new_public_key', token, request)
      if (input.new_public_key && !newKey)
        failField('new_public_key', 'prove it with a DPoP proof in the header DPoP-New-Key')
      const presented = peekDeviceCredential(token).claims
      const before = await db.inTenant(tenant, (tx) => queries.findForRenewal(tx, tenant, deviceId))
      if (!before) return unauthorized()
      const repeated = presented.gen < before.generation
      const jkt = newKey?.jkt ?? before.jkt
      const generation = repeated ? before.generation : before.generation + 1
      const at = now()
      const issued = await issue({ tenant, deviceId, userId: before.user_id, jkt, generation }, at)
      const { new_public_key: _, ...facts } = input
      const row = await db.inTenant(tenant, async (tx) => {
        if (newKey) await spendProof(tx, newKey.proof, at)
        const renewed = await queries.renewDevice(
          tx,
          tenant,
          deviceId,
          before.generation,
          {
            generation,
            previous_generation_until: new Date(at.getTime() + hour),
            previous_jkt: repeated ? before.previous_jkt : before.jkt,
            jkt,
            public_jwk: newKey ? JSON.stringify(newKey.jwk) : before.public_jwk && JSON.stringify(before.public_jwk),
            credential_expires_at: issued.expiresAt,
            credential_renew_after: issued.renewAfter,
            ...facts,
          },
          at,
        )
        if (!renewed) return fail('validation_error', 'the credential was renewed meanwhile: use the newer one')
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
      return { ...issued, deviceId, userId: row.user_id, status: row.status as 'active' | 'pending', jkt }
    },
  }
}
