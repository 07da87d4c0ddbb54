import { hash } from 'node:crypto'
import { proofSeconds, rememberedProofSeconds } from '@holdfast/contract/limits'
import {
  CryptoError,
  type DeviceCredentialClaims,
  peekDeviceCredential,
  proofKey,
  verifyDeviceCredential,
  verifyProof,
} from '@holdfast/crypto'
import type { Database } from '../../db/database.ts'
import type { CredentialVerdict, IncomingRequest } from '../../http/admission/authenticate.ts'
import type { Principal, RefusedCredential, TenantId } from '../../kernel/actor.ts'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import { createGroupCommit } from '../../kernel/group-commit.ts'
import { decodeId } from '../../kernel/ids.ts'
import { mapMaybePromise } from '../../kernel/maybe-promise.ts'
import { namedIssuer, type Origins, ownUrls } from '../../kernel/origins.ts'
import { createRateLimiter } from '../../kernel/rate-limit.ts'
import { second } from '../../kernel/time.ts'
import type { Changes } from '../../replication/changes.ts'
import type { Feed } from '../../replication/feed.ts'
import type { Rates } from '../access/index.ts'
import type { Trust } from '../trust/index.ts'
import * as queries from './devices.queries.ts'
import { findDevice } from './find.queries.ts'
import type { Fleet } from './fleet.ts'
import type { FleetDevice } from './fleet-device.ts'
import { rememberProofs } from './proofs.queries.ts'
import { createProvenCredentials, VerifiedProof } from './proven.ts'
import { createReplayGuard, proofExpiry } from './replay.ts'

type Reason = RefusedCredential['reason']

export function createDeviceVerifier({
  db,
  changes,
  feed,
  trust,
  fleet,
  rates,
  origins,
  now,
  onSeen,
}: {
  db: Database
  changes: Changes
  feed: Feed
  trust: Trust
  fleet: Fleet
  rates: Rates
  origins: Origins
  now: () => Date
  onSeen: (device: FleetDevice, at: Date) => void
}) {
  // Identity of each tenant's keys for verified credentials. A change of trust invalidates the credentials of that
  // tenant and no others.
  const keysOf = new Map<TenantId, object>()
  const isCurrent = ({ tenantId, keys }: VerifiedProof) => keysOf.get(tenantId) === keys
  const proven = createProvenCredentials({ isCurrent })
  // Credentials of revoked devices, with the device's name, by digest. Revocation is final.
  const revokedCredentials = new BoundedMap<string, { of: VerifiedProof; name: string }>(10_000)
  // A tenant unknown to this replica is hardly ever a new one.
  const unknownTenantLimiter = createRateLimiter(1)
  const reads = createReplayGuard(rememberedProofSeconds * second)
  const remember = createGroupCommit<{ tenant: TenantId; proof: Buffer }, boolean>(
    (batch) => {
      const proofs = batch.map(({ proof }) => proof)
      const expires = proofExpiry(now())
      return db.acrossTenants((tx) => rememberProofs(tx, proofs, expires))
    },
    { tenantOf: ({ tenant }) => tenant, maxBatch: 500, maxQueue: 20_000, maxPerTenant: 10_000 },
  )
  changes.listen('values', {
    changed: (tenant, list) => {
      if (list.some((c) => c.kind === 'trust')) keysOf.delete(tenant)
    },
    forgotten: (tenant) => {
      revokedCredentials.clear()
      if (tenant === undefined) keysOf.clear()
      else keysOf.delete(tenant)
    },
  })

  fleet.onDrop((tenant) => {
    keysOf.delete(tenant)
    void proven.sweepAll()
  })

  const tenantOf = ({ tid }: DeviceCredentialClaims) => decodeId('tenant', tid) as TenantId | undefined
  /** Stored with the device, whose strings it shares. */
  async function keep(
    claims: DeviceCredentialClaims,
    digest: string,
    keys: object,
  ): Promise<VerifiedProof | undefined> {
    const [tenantId, deviceId] = [tenantOf(claims), decodeId('device', claims.sub)]
    if (!tenantId || !deviceId) return undefined
    const device = await fleet.device(tenantId, deviceId)
    const jkt = device?.jkt && device.jkt === claims.cnf?.jkt ? device.jkt : claims.cnf?.jkt
    const { tenantId: tenant, deviceId: id } = device ?? { tenantId, deviceId }
    const made = new VerifiedProof(digest, { tenantId: tenant, deviceId: id, jkt, keys, ...whenOf(claims) })
    if (device) proven.keep(device, made)
    return made
  }
  const whenOf = ({ gen, exp }: DeviceCredentialClaims) => ({ generation: gen, expiresAt: exp * 1000 })

  const currentKeys = (tenant: TenantId): object => {
    const keys = keysOf.get(tenant) ?? {}
    keysOf.set(tenant, keys)
    return keys
  }

  /** Limits the database comparisons that invented tenants cause. */
  async function isTenant(tenant: TenantId): Promise<boolean> {
    if (!feed.knows(tenant) && unknownTenantLimiter.take('', 120, performance.now()) === 0) await feed.catchUp()
    return feed.knows(tenant)
  }

  async function verifySignature(token: string, digest: string): Promise<VerifiedProof | undefined> {
    const { kid, claims } = peekDeviceCredential(token)
    const tenant = tenantOf(claims)
    if (!tenant || !(await isTenant(tenant))) return undefined
    const keys = currentKeys(tenant)
    const key = await trust.keyFor(tenant, kid, 'credential')
    if (!key) return undefined
    const expected = { issuer: namedIssuer(claims.iss, origins), now: now() }
    return keep(verifyDeviceCredential(token, key, expected), digest, keys)
  }

  /** Reason why the device's credential is no longer valid, apart from the state of the device. */
  function refusalReason(v: VerifiedProof, device: FleetDevice, nowMs: number): Reason | undefined {
    if (v.expiresAt <= nowMs) return 'expired'
    if (v.generation === device.generation) return (v.jkt ?? null) === device.jkt ? undefined : 'superseded'
    const isPrevious = v.generation === device.generation - 1 && (device.previousGenerationUntil ?? 0) > nowMs
    return isPrevious && (v.jkt ?? null) === (device.previousJkt ?? device.jkt) ? undefined : 'superseded'
  }

  const refused = (
    { tenantId, deviceId, name }: Pick<FleetDevice, 'tenantId' | 'deviceId' | 'name'>,
    reason: Reason,
    showsKey?: () => boolean,
  ): RefusedCredential => ({
    kind: 'refused',
    of: 'device',
    tenantId,
    id: deviceId,
    name,
    reason,
    ...(showsKey && { showsKey }),
  })

  const principalOf = (device: FleetDevice, token: string, { generation }: VerifiedProof): Principal => ({
    kind: 'device',
    tenantId: device.tenantId,
    id: device.deviceId,
    name: device.name,
    userId: device.userId,
    isPending: device.status === 'pending',
    rateLimit: rates.limitOfDevice(device),
    presented: { token, generation },
  })

  const proofFor = (token: string, { dpop, method, path }: IncomingRequest, at: Date) => ({
    proofs: dpop,
    method,
    ...ownUrls(path, origins),
    accessToken: token,
    now: at,
    toleranceSeconds: proofSeconds,
  })

  /** True if the caller is the device itself. Only then it learns the state of the device. */
  function isItself({ jkt, expiresAt }: VerifiedProof, token: string, incoming: IncomingRequest): boolean {
    const at = now()
    if (expiresAt <= at.getTime() || jkt === undefined) return expiresAt > at.getTime()
    try {
      verifyProof({ ...proofFor(token, incoming, at), jkt })
      return true
    } catch (e) {
      if (e instanceof CryptoError) return false
      throw e
    }
  }

  /**
   * The caller must prove possession of the credential's key, and each proof counts once. Requests are counted only
   * after the proof, so that nobody else can use up a device's quota. The quota also bounds the stored proofs.
   */
  function prove(
    v: VerifiedProof,
    device: FleetDevice,
    token: string,
    incoming: IncomingRequest,
    at: Date,
  ): boolean | Promise<boolean> {
    const { jkt } = v
    if (jkt === undefined) return mapMaybePromise(rates.takeOfDevice(device), () => true)
    return mapMaybePromise(rates.peekOfDevice(device), () => {
      const proof = verifyProof({
        ...proofFor(token, incoming, at),
        jkt,
        known: v.header,
        onHeader: (take) => proven.keepHeader(v, take),
      })
      return mapMaybePromise(rates.takeOfDevice(device), () => {
        // A read changes nothing, so the memory of one replica is enough. A write is checked across all replicas.
        if (incoming.method !== 'GET') return remember({ tenant: v.tenantId, proof: proofKey(proof.jkt, proof.jti) })
        return reads.isFirst(hash('sha256', `${proof.jkt}${proof.jti}`, 'base64url'), at.getTime())
      })
    })
  }

  async function confirmGeneration(device: FleetDevice): Promise<void> {
    await db.inTenant(device.tenantId, async (tx) => {
      if (await queries.endPreviousGeneration(tx, device.tenantId, device.deviceId, device.generation))
        await changes.record(tx, device.tenantId, [{ kind: 'device', subject: device.deviceId }])
    })
  }

  /** Another replica has just enrolled the device or renewed its credential, and this replica does not know yet. */
  const isAheadOf = (v: VerifiedProof, device: FleetDevice | undefined) => !device || v.generation > device.generation

  /** The fleet has no revoked devices. */
  async function refuseRevoked(v: VerifiedProof, token: string, incoming: IncomingRequest): Promise<CredentialVerdict> {
    const row = await db.inTenant(v.tenantId, (tx) => findDevice(tx, v.tenantId, v.deviceId, now()))
    if (row?.status !== 'revoked') return undefined
    v.isOver = true
    revokedCredentials.set(v.digest, { of: v, name: row.name })
    return refused({ ...v, name: row.name }, 'revoked', () => isItself(v, token, incoming))
  }

  function check(
    v: VerifiedProof,
    device: FleetDevice | undefined,
    token: string,
    incoming: IncomingRequest,
    mayAsk = true,
  ): CredentialVerdict | Promise<CredentialVerdict> {
    const at = now()
    if (mayAsk && isAheadOf(v, device))
      return feed
        .catchUp()
        .then(async () => check(v, await fleet.device(v.tenantId, v.deviceId), token, incoming, false))
    if (!device) return refuseRevoked(v, token, incoming)
    const reason = refusalReason(v, device, at.getTime())
    if (device.isSuspended) return refused(device, 'suspended', () => !reason && isItself(v, token, incoming))
    if (reason) return refused(device, reason)
    const verdictAfterProof = (isProven: boolean): CredentialVerdict | Promise<CredentialVerdict> => {
      if (!isProven) return refused(device, 'no_proof')
      onSeen(device, at)
      const isConfirmed = v.generation !== device.generation || device.previousGenerationUntil === null
      return mapMaybePromise(isConfirmed ? undefined : confirmGeneration(device), () => principalOf(device, token, v))
    }
    const isUnproven = (e: unknown): RefusedCredential => {
      if (e instanceof CryptoError) return refused(device, 'no_proof')
      throw e
    }
    try {
      const verdict = mapMaybePromise(prove(v, device, token, incoming, at), verdictAfterProof)
      return verdict instanceof Promise ? verdict.catch(isUnproven) : verdict
    } catch (e) {
      return isUnproven(e)
    }
  }

  function isGone(digest: string, token: string, incoming: IncomingRequest): RefusedCredential | undefined {
    const { of, name } = revokedCredentials.get(digest) ?? {}
    if (!of || name === undefined || !isCurrent(of)) return undefined
    return refused({ tenantId: of.tenantId, deviceId: of.deviceId, name }, 'revoked', () =>
      isItself(of, token, incoming),
    )
  }

  async function checkCold(token: string, digest: string, incoming: IncomingRequest): Promise<CredentialVerdict> {
    try {
      const v = await verifySignature(token, digest)
      return v && check(v, await fleet.device(v.tenantId, v.deviceId), token, incoming)
    } catch (e) {
      if (e instanceof CryptoError) return undefined
      throw e
    }
  }

  /** Warm calls are synchronous: a digest, two look-ups, a proof. */
  return (token: string, incoming: IncomingRequest): CredentialVerdict | Promise<CredentialVerdict> => {
    const digest = hash('sha256', token, 'base64url')
    const seen = proven.get(digest)
    // Ignores entries of a deleted tenant.
    const known = seen && feed.knows(seen.tenantId) ? seen : undefined
    if (!known) return isGone(digest, token, incoming) ?? checkCold(token, digest, incoming)
    return mapMaybePromise(fleet.device(known.tenantId, known.deviceId), (device) =>
      check(known, device, token, incoming),
    )
  }
}
