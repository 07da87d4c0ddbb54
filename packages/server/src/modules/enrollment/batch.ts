import { setTimeout as delay } from 'node:timers/promises'
import { type Database, foreground, type Patience, type Tx } from '../../db/database.ts'
import type { Source, TenantId } from '../../kernel/actor.ts'
import type { Allowance } from '../../kernel/allowance.ts'
import { AppError } from '../../kernel/app-error.ts'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import { createGroupCommit } from '../../kernel/group-commit.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { Change, Changes } from '../../replication/changes.ts'
import type { Audit } from '../audit/index.ts'
import { addressCapacity, joining, labelDevices } from '../devices/index.ts'
import type { ProvisioningCandidate, UnresolvedAccount } from '../federation/index.ts'
import { keysOfGateways } from '../gateways/index.ts'
import type { Entitlements } from '../tenancy/index.ts'
import { type AllocationVerdict, type Asks, allocate, type By, type ProviderMethod } from './allocate.ts'
import * as queries from './batch.queries.ts'
import { type Again, type Once, spendProofs } from './once.ts'

type Applicant = Asks & {
  source: Source
  /** Key under which the proof is remembered; null without a device key. */
  proof: Buffer | null
  /** All columns except those that follow from `by`. */
  device: Omit<joining.NewDevice, 'address_number' | 'user_id' | keyof joining.EnrolledBy>
}
/** Only transactions that change very many users lock a user for longer. */
const impatient: Patience = { ...foreground, lock: 250 }
/** Enrollment by an identity provider. The transaction itself resolves the account. */
export type VerifiedApplicant = {
  method: ProviderMethod
  providerId: string
  ticket: Buffer
  resolveAccount: ProvisioningCandidate['resolveAccount']
}
/** Returns those of these identity providers that enroll devices, and keeps this stable until commit. */
type HoldProviders = (tx: Tx, tenant: TenantId, providerIds: readonly string[]) => Promise<ReadonlySet<string>>
/** Number of the device's overlay address, or the reason of the refusal. */
export type AllocationOutcome = number | Refusal
type Refusal = Exclude<AllocationVerdict, 'granted'> | 'no_address_left' | 'wireguard_key_taken'
/** `userId`: the refused user, if the user existed before. */
export type Undone = { refused: Refusal | UnresolvedAccount; userId: string | undefined }

/**
 * Concurrent enrollments of a tenant share a transaction. Separate ones would wait for each other's commit anyway,
 * since each needs a use of the same token and the tenant's next address. Any batch takes the same few statements.
 *
 * All replicas lock rows in one order: the counter of devices, proofs and tickets, providers, users, tokens, devices
 * that have the keys, the tenant's epoch.
 */
export function createBatches({
  db,
  audit,
  changes,
  holdProviders,
  entitlements,
  now,
}: {
  db: Database
  audit: Audit
  changes: Changes
  holdProviders: HoldProviders
  entitlements: Entitlements
  now: () => Date
}) {
  /** Each tenant has its own queue, so that no tenant delays another or uses up its capacity. */
  const queues = new BoundedMap<TenantId, (applicant: Applicant) => Promise<AllocationOutcome | 'busy'>>(10_000)

  const write = (tenant: TenantId, batch: readonly Applicant[], patience: Patience): Promise<AllocationOutcome[]> =>
    db.inTenant(
      tenant,
      async (tx) => {
        const at = now()
        const once = batch.map(({ proof, by }) => ({ proof, ticket: ticketOf(by) }))
        const begun = await begin(tx, tenant, { once, devices: batch.map((a) => a.device) }, at)
        return allocateBatch(tx, tenant, { batch, ...begun, moved: [] }, at)
      },
      patience,
    )

  /**
   * An applicant whose user is locked for long, for example by a directory run, leaves the batch, so that the others do
   * not wait.
   */
  async function writeFree(tenant: TenantId, batch: readonly Applicant[]): Promise<(AllocationOutcome | 'busy')[]> {
    const users = distinct(batch.map((a) => a.by.userId))
    if (users.length === 0) return write(tenant, batch, foreground)
    try {
      return await write(tenant, batch, impatient)
    } catch (e) {
      if ((e as { code?: unknown }).code !== '55P03') throw e
    }
    const busy = await db.inTenant(tenant, (tx) => queries.heldUsers(tx, tenant, users))
    const isFree = ({ by: { userId } }: Applicant) => userId === null || !busy.has(userId)
    const free = batch.filter(isFree)
    const outcomes = free.length > 0 ? await write(tenant, free, foreground) : []
    let next = 0
    return batch.map((a) => (isFree(a) ? outcomes[next++]! : 'busy'))
  }

  async function begin(
    tx: Tx,
    tenant: TenantId,
    { once, devices }: { once: readonly Once[]; devices: readonly Applicant['device'][] },
    at: Date,
  ): Promise<{ again: Again; places: Allowance }> {
    const places = await entitlements.hold(tx, tenant, 'devices')
    await joining.holdTunnelKeys(tx, tenant, distinct(devices.map((d) => d.wireguard_public_key)))
    return { places, again: await spendProofs(tx, once, at) }
  }

  /** `moved`: changes to announce together with the devices. */
  async function allocateBatch(
    tx: Tx,
    tenant: TenantId,
    {
      batch,
      again,
      places,
      moved,
    }: { batch: readonly Applicant[]; again: Again; places: Allowance; moved: readonly Change[] },
    at: Date,
  ): Promise<AllocationOutcome[]> {
    const those = (indices: ReadonlySet<number>) => new Set(batch.filter((_, i) => indices.has(i)))
    const openProviders = await holdProviders(tx, tenant, distinct(batch.map((a) => providerOf(a.by))))
    const devicesOf = await queries.lockEnrollingUsers(tx, tenant, distinct(batch.map((a) => a.by.userId)))
    const usesLeft = await queries.lockTokens(tx, tenant, distinct(batch.map((a) => tokenOf(a.by))), at)
    const takenKeys = await joining.lockKeys(tx, tenant, distinct(batch.map((a) => a.jkt)))
    const verdicts = allocate(batch, {
      replayed: those(again.replayed),
      usedTickets: those(again.spent),
      openProviders,
      usesLeft,
      devicesOf,
      takenKeys,
      room: places.room(),
    })
    const granted = batch.filter((_, i) => verdicts[i] === 'granted')
    const outcomes = granted.length > 0 ? await enroll(tx, tenant, { granted, places, moved }, at) : []
    const beyond = verdicts.filter((verdict) => verdict === 'no_place_left').length
    if (beyond > 0) places.refuse(beyond)
    let next = 0
    return verdicts.map((verdict) => (verdict === 'granted' ? (outcomes[next++] as AllocationOutcome) : verdict))
  }

  /** Inserts the devices. Some may still be refused. */
  async function enroll(
    tx: Tx,
    tenant: TenantId,
    { granted, places, moved }: { granted: readonly Applicant[]; places: Allowance; moved: readonly Change[] },
    at: Date,
  ): Promise<AllocationOutcome[]> {
    const numbers = await joining.takeAddresses(tx, tenant, granted.length)
    const rows = granted.map((a, i) => ({ ...a.device, ...ofRow(a.by), address_number: numbers[i] as number }))
    const newTunnelKeys = distinct(rows.map((r) => r.wireguard_public_key))
    const givenUp = await joining.givenUpKeys(tx, tenant, newTunnelKeys, at)
    for (const key of await keysOfGateways(tx, tenant, newTunnelKeys)) givenUp.add(key)
    const inserted = await joining.insertDevices(
      tx,
      places.take(granted.length),
      tenant,
      rows.filter((r) => r.address_number <= addressCapacity && !givenUp.has(r.wireguard_public_key ?? '')),
    )
    const left = granted.filter((a) => !inserted.has(a.device.device_id))
    const tunnelKeys = distinct(left.map((a) => a.device.wireguard_public_key))
    const takenTunnelKeys = await joining.takenWireguardKeys(tx, tenant, tunnelKeys)
    const outcomes = rows.map(({ device_id, wireguard_public_key, address_number }): AllocationOutcome => {
      if (inserted.has(device_id)) return address_number
      if (address_number > addressCapacity) return 'no_address_left'
      const key = wireguard_public_key ?? ''
      return takenTunnelKeys.has(key) || givenUp.has(key) ? 'wireguard_key_taken' : 'key_taken'
    })
    const enrolled = granted.filter((a) => inserted.has(a.device.device_id))
    const unused = rows.filter((r) => !inserted.has(r.device_id)).map((r) => r.address_number)
    await joining.giveBackAddresses(
      tx,
      tenant,
      unused.filter((n) => n <= addressCapacity),
    )
    if (enrolled.length === 0) return outcomes
    await labelDevices(
      tx,
      tenant,
      enrolled.map((a) => a.device),
    )
    await queries.useTokens(tx, tenant, countOf(enrolled.flatMap((a) => tokenOf(a.by) ?? [])), at)
    await audit.recordAll(tx, enrolled.map(enrolledEvent))
    const come = enrolled.map((a) => ({ kind: 'device' as const, subject: a.device.device_id }))
    await changes.record(tx, tenant, [...moved, ...come])
    return outcomes
  }

  return {
    /** Resolves once the device is durable, or with the reason of the refusal. */
    join: async (tenant: TenantId, applicant: Applicant): Promise<AllocationOutcome> => {
      let queue = queues.get(tenant)
      if (!queue) {
        queue = createGroupCommit((batch: Applicant[]) => writeFree(tenant, batch), {
          tenantOf: () => tenant,
          maxBatch: 200,
          maxQueue: 5000,
          maxPerTenant: 5000,
          gathers: true,
        })
        queues.set(tenant, queue)
      }
      for (const until = performance.now() + foreground.total; ; await delay(100 + Math.random() * 200)) {
        const outcome = await queue(applicant)
        if (outcome !== 'busy') return outcome
        if (performance.now() > until)
          throw new AppError(
            'internal_error',
            'the user of this device is being changed by another request: try again',
            {
              retryAfterSeconds: 2,
            },
          )
      }
    },

    /**
     * Enrolls a single applicant by an identity provider. The same transaction resolves the account and creates the
     * user if necessary. A refusal rolls everything back.
     */
    joinVouched: (
      tenant: TenantId,
      { by: { resolveAccount, ...by }, ...applicant }: Omit<Applicant, 'by'> & { by: VerifiedApplicant },
    ): Promise<{ userId: string; addressNumber: number } | Undone> =>
      db
        .inTenant(tenant, async (tx) => {
          const at = now()
          const once = [{ proof: applicant.proof, ticket: by.ticket }]
          const begun = await begin(tx, tenant, { once, devices: [applicant.device] }, at)
          const before = refusalOf(begun.again)
          if (before) throw new NotJoined({ refused: before, userId: undefined })
          const who = await resolveAccount(tx)
          if (typeof who === 'string') throw new NotJoined({ refused: who, userId: undefined })
          const { userId, isNew, moved } = who
          const batch = [{ ...applicant, by: { ...by, userId } }]
          const [outcome] = await allocateBatch(tx, tenant, { batch, ...begun, moved }, at)
          if (typeof outcome === 'number') return { userId, addressNumber: outcome }
          throw new NotJoined({ refused: outcome ?? 'user_gone', userId: isNew ? undefined : userId })
        })
        .catch((e: unknown) => {
          if (e instanceof NotJoined) return e.outcome
          throw e
        }),
  }
}
export type Batches = ReturnType<typeof createBatches>

/** Rolls back the transaction of a single applicant. */
class NotJoined extends Error {
  readonly outcome: Undone
  constructor(outcome: Undone) {
    super(outcome.refused)
    this.outcome = outcome
  }
}

/** Refusal of a single applicant because of a used ticket or proof. */
const refusalOf = ({ spent, replayed }: Again): Refusal | undefined =>
  spent.size > 0 ? 'challenge_spent' : replayed.size > 0 ? 'proof_replayed' : undefined

const tokenOf = (by: By) => (by.method === 'token' ? by.tokenId : null)
const providerOf = (by: By) => (by.method === 'token' ? null : by.providerId)
const ticketOf = (by: By) => (by.method === 'token' ? null : by.ticket)

/** Columns of the device's row that follow from the method. */
function ofRow(by: By): joining.EnrolledBy & { user_id: string | null } {
  const { userId: user_id } = by
  if (by.method === 'token') return { user_id, enrolled_method: by.method, token_id: by.tokenId, provider_id: null }
  return { user_id, enrolled_method: by.method, token_id: null, provider_id: by.providerId }
}

const viaOf = (by: By) =>
  by.method === 'token'
    ? { method: by.method, token_id: encodeId('enrollment_token', by.tokenId) }
    : { method: by.method, provider_id: encodeId('identity_provider', by.providerId) }

function enrolledEvent({ source, by, device }: Applicant) {
  const id = encodeId('device', device.device_id)
  return {
    source,
    kind: 'device.enrolled' as const,
    fields: { device_id: id, ...viaOf(by) },
    more: {
      target: { type: 'device', id, name: device.name },
      details: {
        binding: device.jkt ? 'dpop' : 'none',
        status: device.status,
        user_id: by.userId && encodeId('user', by.userId),
      },
    },
  }
}

const distinct = <T>(values: readonly (T | null)[]): T[] => [...new Set(values.filter((v) => v !== null))]

function countOf(ids: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}
