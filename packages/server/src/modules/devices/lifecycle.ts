import type { Database, Tx } from '../../db/database.ts'
import type { Actor, Source, TenantId } from '../../kernel/actor.ts'
import { AppError, fail } from '../../kernel/app-error.ts'
import { decodeId, encodeId, missing } from '../../kernel/ids.ts'
import type { ExpectedVersion } from '../../kernel/version.ts'
import { type Changes, everything } from '../../replication/changes.ts'
import type { Audit, FieldChanges } from '../audit/index.ts'
import { requireNotStronger } from '../identity/index.ts'
import type { EndOfUsers, Offboarding } from '../offboarding/index.ts'
import type { Entitlements } from '../tenancy/index.ts'
import type { DevicePatch, DeviceTransition } from './devices.queries.ts'
import * as queries from './devices.queries.ts'
import { type DeviceFilterQuery, denseDeviceFilters } from './filter.queries.ts'
import { selectDevices } from './find.queries.ts'
import type { Waiting } from './waiting.ts'

/** Devices of a filter. `isMatch` decides of each device that was found, by values that are in memory only. */
export type MatchingDevices = { judged: DeviceFilterQuery; isMatch: (deviceId: string) => boolean }
type Outcome = { device_id: string; outcome: 'changed' | 'unchanged' | 'failed'; error?: string }

/** Reason of the change, and the version that the caller has seen. */
type With = { reason: string | undefined; expected: ExpectedVersion }

const batchLimit = 10_000
/** Maximum number of devices announced one by one. Above it, a change of all devices is announced. */
const mostTold = 10_000

export function createDeviceLifecycle({
  db,
  audit,
  changes,
  now,
  offboarding,
  entitlements,
  waiting,
}: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  offboarding: Pick<Offboarding, 'cutDevices'>
  entitlements: Entitlements
  waiting: Pick<Waiting, 'moved'>
}) {
  /** Changes the status of devices, ends their sessions if necessary, and records audit events. */
  async function move(
    tx: Tx,
    source: Source,
    ids: readonly string[],
    operation: DeviceTransition,
    reason: string | undefined,
  ) {
    const tenant = source.tenantId
    const movedDevices = await queries.moveDevices(tx, tenant, ids, operation, now())
    if (movedDevices.length === 0) return movedDevices
    const movedIds = movedDevices.map((d) => d.device_id)
    if (operation === 'suspend' || operation === 'revoke')
      await offboarding.cutDevices(tx, source, movedIds, operation === 'revoke' ? 'revoked' : 'suspended')
    await recordMoved(tx, source, movedDevices, operation, reason)
    return movedDevices
  }
  const recordMoved = (
    tx: Tx,
    source: Source,
    movedDevices: readonly { device_id: string; name: string }[],
    operation: DeviceTransition,
    reason: string | undefined,
  ) => {
    if (movedDevices.length > 0) db.afterCommit(tx, () => waiting.moved(source.tenantId))
    return audit.recordAll(
      tx,
      movedDevices.map((d) => ({
        source,
        kind: 'device.changed',
        fields: { operation, device_id: encodeId('device', d.device_id) },
        more: {
          target: { type: 'device', id: encodeId('device', d.device_id), name: d.name },
          ...(reason !== undefined && { details: { reason } }),
        },
      })),
    )
  }

  /** A reactivated device counts against the limit again. */
  const placesFor = async (tx: Tx, tenant: TenantId, operation: DeviceTransition) =>
    operation === 'reactivate' ? entitlements.hold(tx, tenant, 'devices') : undefined

  const refusal = (operation: DeviceTransition, status: string) =>
    status === 'revoked'
      ? 'the device is revoked, and this is final: enroll it again'
      : `the device is ${status}: ${operation} is not possible in this state`

  return {
    /** Returns false if the device already has the target status; nothing is changed then. */
    change: (
      actor: Actor,
      deviceId: string,
      operation: DeviceTransition,
      { reason, expected }: With,
    ): Promise<boolean> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const places = await placesFor(tx, actor.tenantId, operation)
        const before = (await queries.lockDevice(tx, actor.tenantId, deviceId)) ?? missing('device')
        expected.require(deviceVersion(before))
        const movedDevices = await move(tx, actor, [deviceId], operation, reason)
        places?.take(movedDevices.length)
        if (movedDevices.length > 0) {
          await changes.record(tx, actor.tenantId, [{ kind: 'device', subject: deviceId }])
          return true
        }
        if (before.status !== queries.deviceTransitions[operation].to)
          fail('validation_error', refusal(operation, before.status))
        return false
      }),

    update: (actor: Actor, deviceId: string, patch: DevicePatch, { reason, expected }: With): Promise<boolean> =>
      db.inTenant(actor.tenantId, async (tx) => {
        // The user comes first, so that a concurrent deletion of the user sees the device or is seen here.
        if (patch.user_id) await requireNotStronger(tx, actor, patch.user_id, 'device.user_id')
        const before = (await queries.lockDevice(tx, actor.tenantId, deviceId)) ?? missing('device')
        expected.require(deviceVersion(before))
        if (before.status === 'revoked') fail('validation_error', refusal('revoke', 'revoked'))
        const changed = differences(before, patch)
        if (changed.user_id && before.user_id) await requireNotStronger(tx, actor, before.user_id)
        if (Object.keys(changed).length === 0) return false
        await queries.updateDevice(tx, actor.tenantId, deviceId, patch, now())
        const id = encodeId('device', deviceId)
        await audit.record(
          tx,
          actor,
          'device.changed',
          { operation: 'update', device_id: id },
          {
            target: { type: 'device', id, name: before.name },
            changes: changed,
            ...(reason !== undefined && { details: { reason } }),
          },
        )
        await changes.record(tx, actor.tenantId, [{ kind: 'device', subject: deviceId }])
        return true
      }),

    /** One transaction: changes all named devices that can change, and returns an outcome for each. */
    changeMany: (
      actor: Actor,
      which: { ids: string[] } | MatchingDevices,
      operation: DeviceTransition,
      { reason, dryRun }: { reason: string | undefined; dryRun: boolean },
    ): Promise<Outcome[]> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const tenant = actor.tenantId
        const places = dryRun ? undefined : await placesFor(tx, tenant, operation)
        const deviceIds = 'ids' in which ? which.ids : await matching(tx, tenant, which)
        const uuids = deviceIds.flatMap((id) => decodeId('device', id) ?? [])
        const before = new Map((await queries.statusesOf(tx, tenant, uuids)).map((d) => [d.device_id, d.status]))
        const movedDevices = dryRun
          ? new Set(
              uuids.filter((id) =>
                (queries.deviceTransitions[operation].from as readonly string[]).includes(before.get(id) ?? ''),
              ),
            )
          : new Set((await move(tx, actor, uuids, operation, reason)).map((d) => d.device_id))
        places?.take(movedDevices.size)
        const results = deviceIds.map((id): Outcome => {
          const uuid = decodeId('device', id)
          const status = uuid && before.get(uuid)
          if (!uuid || !status) return { device_id: id, outcome: 'failed', error: 'no such device' }
          if (movedDevices.has(uuid)) return { device_id: id, outcome: 'changed' }
          return status === queries.deviceTransitions[operation].to
            ? { device_id: id, outcome: 'unchanged' }
            : { device_id: id, outcome: 'failed', error: refusal(operation, status) }
        })
        if (!dryRun && movedDevices.size > 0) {
          const fields = { operation, matched: deviceIds.length, changed: movedDevices.size }
          await audit.record(
            tx,
            actor,
            'device.batch_changed',
            fields,
            reason === undefined ? {} : { details: { reason } },
          )
          await changes.record(
            tx,
            tenant,
            [...movedDevices].map((subject) => ({ kind: 'device', subject })),
          )
        }
        return results
      }),

    /** Revokes the devices of deleted users, in one statement. The caller ends their VPN sessions and certificates. */
    endDevicesOf: (async (tx, source, users, reason) => {
      const userIds = users.map((user) => user.user_id)
      const revoked = await queries.revokeOfUsers(tx, source.tenantId, userIds, now())
      await recordMoved(tx, source, revoked, 'revoke', reason)
      const subjects = revoked.length > mostTold ? [everything] : revoked.map((d) => d.device_id)
      return { count: revoked.length, changes: subjects.map((subject) => ({ kind: 'device', subject })) }
    }) satisfies EndOfUsers,

    /** For jobs: revokes devices without an acting person. */
    revokeAll: (source: Source, ids: string[], reason: string) =>
      db.inTenant(source.tenantId, async (tx) => {
        const movedDevices = await move(tx, source, ids, 'revoke', reason)
        if (movedDevices.length > 0)
          await changes.record(
            tx,
            source.tenantId,
            movedDevices.map((d) => ({ kind: 'device', subject: d.device_id })),
          )
      }),
  }
}
export type DeviceLifecycle = ReturnType<typeof createDeviceLifecycle>

async function matching(tx: Tx, tenant: TenantId, { judged, isMatch }: MatchingDevices): Promise<string[]> {
  const rows = await selectDevices(tx, tenant, judged, await denseDeviceFilters(tx, tenant, judged, 'enrolled_at'))
    .limit(batchLimit + 1)
    .execute()
  if (rows.length > batchLimit) {
    const limit = batchLimit.toLocaleString('en')
    const message = `matches more than ${limit} devices, the maximum of one request: use a narrower filter`
    throw new AppError('validation_error', `filter: ${message}`, { errors: [{ field: 'filter', message }] })
  }
  return rows.filter((r) => isMatch(r.device_id)).map((r) => encodeId('device', r.device_id))
}

/** Version of a device: the properties that are set, not those that the device reports. */
export const deviceVersion = ({ device_id, name, tags, channel, user_id, status, updated_at }: Settable) => ({
  device_id,
  name,
  tags,
  channel,
  user_id,
  status,
  updated_at,
})
type Settable = NonNullable<Awaited<ReturnType<typeof queries.lockDevice>>>

/** IDs as in the API: audit events contain no others. */
const fieldValue = (field: keyof DevicePatch, device: DevicePatch) =>
  field === 'user_id' && device.user_id ? encodeId('user', device.user_id) : device[field]
const differences = (before: DevicePatch, patch: DevicePatch): FieldChanges =>
  Object.fromEntries(
    (Object.keys(patch) as (keyof DevicePatch)[])
      .filter((k) => JSON.stringify(before[k]) !== JSON.stringify(patch[k]))
      .map((k) => [k, [fieldValue(k, before), fieldValue(k, patch)]]),
  )
