import { hash } from 'node:crypto'
import {
  CryptoError,
  type DeviceCredentialClaims,
  peekDeviceCredential,
  proofKey,
  verifyDeviceCredential,
  verifyProof,
} from '@holdfast/crypto'
import type { Database } from '../../db/database.ts'
import type { Incoming } from '../../http/authenticate.ts'
import type { Principal, TenantId } from '../../kernel/actor.ts'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import { createGroupCommit } from '../../kernel/group-commit.ts'
import { decodeId } from '../../kernel/ids.ts'
import type { Changes } from '../../memory/changes.ts'
import type { Feed } from '../../memory/feed.ts'
import type { Trust } from '../trust/index.ts'
import * as queries from './devices.queries.ts'
import type { Fleet } from './fleet.ts'
import type { FleetDevice } from './fleet-tenant.ts'
import { createReplayGuard } from './replay.ts'

/** A proof counts for this long after it was made; it is remembered longer than that. */
export const proofSeconds = 60
const rememberProofMs = (proofSeconds + 10) * 1000

type Verdict = Principal | undefined | Promise<Principal | undefined>
type Verified = { tenantId: TenantId; deviceId: string; generation: number; jkt: string | undefined; expiresAt: number }

export function createDeviceVerifier({
  db,
  changes,
  feed,
  trust,
  fleet,
  publicUrl,
  now,
  onSeen,
}: {
  db: Database
  changes: Changes
  feed: Feed
  trust: Trust
  fleet: Fleet
  publicUrl: string
  now: () => Date
  onSeen: (device: FleetDevice, at: Date) => void
}) {
  // What a credential's signature proved, by the credential's digest. Whether the device may still use it is asked
  // of the fleet every time.
  const verified = new BoundedMap<string, Verified>(200_000)
  const reads = createReplayGuard(rememberProofMs)
  const remember = createGroupCommit<{ tenant: TenantId; proof: Buffer }, boolean>(
    (batch) => {
      const proofs = batch.map((b) => b.proof)
      const expires = new Date(now().getTime() + rememberProofMs)
      return db.acrossTenants((tx) => queries.rememberProofs(tx, proofs, expires))
    },
    { tenantOf: ({ tenant }) => tenant, maxBatch: 500, maxQueue: 20_000, maxPerTenant: 10_000 },
  )
  changes.listen('values', {
    changed: (_tenant, list) => {
      if (list.some((c) => c.kind === 'trust')) verified.clear()
    },
    forgotten: () => verified.clear(),
  })

  const read = (claims: DeviceCredentialClaims): Verified | undefined => {
    const tenantId = decodeId('tenant', claims.tid) as TenantId | undefined
    const deviceId = decodeId('device', claims.sub)
    return tenantId && deviceId
      ? { tenantId, deviceId, generation: claims.gen, jkt: claims.cnf?.jkt, expiresAt: claims.exp * 1000 }
      : undefined
  }

  const sharedWith = ({ tenantId, deviceId, jkt }: FleetDevice, found: Verified) => ({
    tenantId,
    deviceId,
    jkt: jkt !== null && jkt === found.jkt ? jkt : found.jkt,
  })

  async function verifySignature(token: string, digest: string): Promise<Verified | undefined> {
    const { kid, claims } = peekDeviceCredential(token)
    const tenant = decodeId('tenant', claims.tid) as TenantId | undefined
    const key = tenant && (await trust.keyFor(tenant, kid, 'credential'))
    if (!key) return undefined
    const found = read(verifyDeviceCredential(token, key, { issuer: publicUrl, now: now() }))
    const device = found && (await fleet.device(found.tenantId, found.deviceId))
    // Held for every device of a fleet, so it shares the device's own texts.
    if (found) verified.set(digest, device ? { ...found, ...sharedWith(device, found) } : found)
    return found
  }

  /** Revoked and suspended devices, ended generations and keys that are not the device's are all no credential. */
  function matches(v: Verified, device: FleetDevice, nowMs: number): boolean {
    if (device.status === 'revoked' || device.status === 'suspended' || v.expiresAt <= nowMs) return false
    if (device.status === 'active' && !device.usable) return false
    if (v.generation === device.generation) return (v.jkt ?? null) === device.jkt
    const previous = v.generation === device.generation - 1 && (device.previousGenerationUntil ?? 0) > nowMs
    return previous && (v.jkt ?? null) === (device.previousJkt ?? device.jkt)
  }

  const principalOf = (device: FleetDevice, token: string, { generation }: Verified): Principal => ({
    kind: 'device',
    tenantId: device.tenantId,
    id: device.deviceId,
    name: device.name,
    userId: device.userId,
    presented: { token, generation },
  })

  /** Whoever holds the credential must show its key, and each proof counts once. */
  function prove(v: Verified, token: string, incoming: Incoming, at: Date): true | Promise<boolean> {
    if (v.jkt === undefined) return true
    const proof = verifyProof({
      proofs: incoming.dpop,
      method: incoming.method,
      url: publicUrl + incoming.path,
      accessToken: token,
      now: at,
      jkt: v.jkt,
      maxAgeSeconds: proofSeconds,
    })
    // Reads change nothing, so a replica's own memory is enough; a change is proven once for all replicas.
    if (incoming.method === 'GET') {
      if (!reads.isFirst(hash('sha256', `${proof.jkt}${proof.jti}`, 'base64url'), at.getTime()))
        throw new CryptoError('replayed', 'proof seen before')
      return true
    }
    return remember({ tenant: v.tenantId, proof: proofKey(proof.jkt, proof.jti) })
  }

  async function confirmGeneration(device: FleetDevice): Promise<void> {
    await db.inTenant(device.tenantId, async (tx) => {
      if (await queries.endPreviousGeneration(tx, device.tenantId, device.deviceId, device.generation))
        await changes.record(tx, device.tenantId, [{ kind: 'device', subject: device.deviceId }])
    })
  }

  /** Another replica has just enrolled the device or renewed its credential, and this one has not heard of it yet. */
  const isAheadOf = (v: Verified, device: FleetDevice | undefined) => !device || v.generation > device.generation

  function check(
    v: Verified,
    device: FleetDevice | undefined,
    token: string,
    incoming: Incoming,
    mayAsk = true,
  ): Verdict {
    const at = now()
    if (mayAsk && isAheadOf(v, device))
      return feed
        .catchUp()
        .then(async () => check(v, await fleet.device(v.tenantId, v.deviceId), token, incoming, false))
    if (!device || !matches(v, device, at.getTime())) return undefined
    const proven = prove(v, token, incoming, at)
    onSeen(device, at)
    const confirm = v.generation === device.generation && device.previousGenerationUntil !== null
    if (proven === true && !confirm) return principalOf(device, token, v)
    return (async () => {
      if (!(await proven)) return undefined
      if (confirm) await confirmGeneration(device)
      return principalOf(device, token, v)
    })()
  }

  /** Warm calls are synchronous: a digest, a look-up, a proof. Anything wrong is undefined, whatever it was. */
  return (token: string, incoming: Incoming): Principal | undefined | Promise<Principal | undefined> => {
    const digest = hash('sha256', token, 'base64url')
    const known = verified.get(digest)
    try {
      if (known) {
        const device = fleet.device(known.tenantId, known.deviceId)
        if (!(device instanceof Promise)) return refuseQuietly(check(known, device, token, incoming))
        return refuseQuietly(device.then((d) => check(known, d, token, incoming)))
      }
      return refuseQuietly(
        verifySignature(token, digest).then(
          async (v) => v && check(v, await fleet.device(v.tenantId, v.deviceId), token, incoming),
        ),
      )
    } catch (e) {
      if (e instanceof CryptoError) return undefined
      throw e
    }
  }
}

const refuseQuietly = <T>(result: T | Promise<T>): T | Promise<T | undefined> =>
  result instanceof Promise
    ? result.catch((e) => {
        if (e instanceof CryptoError) return undefined
        throw e
      })
    : result
