import { onlineSeconds } from '@holdfast/contract/devices'
import type { Database } from '../../db/database.ts'
import { findNames } from '../../db/names.ts'
import type { Pager } from '../../db/page.ts'
import type { Handlers } from '../../http/handlers.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { failField } from '../../kernel/app-error.ts'
import { decodeId, idOf, missing } from '../../kernel/ids.ts'
import { mapMaybePromise } from '../../kernel/maybe-promise.ts'
import { second } from '../../kernel/time.ts'
import { versioned } from '../../kernel/version.ts'
import type { VerdictsOf } from './counts.ts'
import type { DevicePatch } from './devices.queries.ts'
import { createDeviceFacets } from './facets.ts'
import {
  type CanaryReach,
  type DenseDeviceFilters,
  type DeviceFilterQuery,
  denseDeviceFilters,
  type Sort,
} from './filter.queries.ts'
import * as queries from './find.queries.ts'
import type { Fleet } from './fleet.ts'
import { type DeviceLifecycle, deviceVersion, type MatchingDevices } from './lifecycle.ts'
import { type GivenFilter, readDeviceFilter } from './read-filter.ts'
import { namesInDevices, type PolicyOf, viewDevice } from './view.ts'

const orders = {
  enrolled_at: { column: 'devices.enrolled_at', kind: 'time' },
  name: { column: 'devices.name', kind: 'text' },
  last_seen_at: { column: 'activity.seen_key', kind: 'time' },
  client_version: { column: 'devices.client_version', kind: 'text' },
} as const

export function deviceHandlers({
  db,
  pager,
  lifecycle,
  shownPolicyOf,
  canaryOf,
  now,
  fleet,
  verdicts,
}: {
  db: Database
  fleet: Pick<Fleet, 'all'>
  verdicts: VerdictsOf
  pager: Pager
  lifecycle: DeviceLifecycle
  now: () => Date
  shownPolicyOf: (tenant: TenantId, deviceId: string) => PolicyOf | Promise<PolicyOf>
  canaryOf: (tenant: TenantId) => Promise<CanaryReach | undefined>
}) {
  const read = async (tenant: TenantId, deviceId: string) => {
    const at = now()
    const { row, names } = await db.inTenant(tenant, async (tx) => {
      const row = (await queries.findDevice(tx, tenant, deviceId, at, onlineSince(at))) ?? missing('device')
      return { row, names: await findNames(tx, tenant, namesInDevices([row])) }
    })
    return { row, view: viewDevice(row, await shownPolicyOf(tenant, deviceId), names, at) }
  }
  const judge = async (tenant: TenantId, filterInput: GivenFilter): Promise<DeviceFilterQuery> => {
    const at = now()
    return {
      filter: readDeviceFilter(filterInput, at),
      at,
      canary: await canaryOf(tenant),
      onlineSince: onlineSince(at),
    }
  }
  /** Devices are found by the stored verdict, which follows a publish within seconds; the verdict of now decides. */
  const matching = async (tenant: TenantId, given: GivenFilter): Promise<MatchingDevices> => {
    const judged = await judge(tenant, given)
    const { posture } = given
    if (posture === undefined) return { judged, isMatch: () => true }
    const verdictOf = await verdicts(tenant)
    const devices = await fleet.all(tenant)
    const atMs = judged.at.getTime()
    const isMatch = (deviceId: string) => {
      const device = devices.get(deviceId)
      // A revoked device is not in memory.
      return (device ? verdictOf(device, atMs) : 'unknown') === posture
    }
    return { judged, isMatch }
  }

  const counts = createDeviceFacets({ db, now, judge })

  return {
    listDeviceFacets: ({ actor, query }) => counts.facets(actor.tenantId, query),
    listDevices: async ({ actor, query }) => {
      const { tenantId } = actor
      const { limit: _, cursor: __, sort, count, ...filterInput } = query
      const deviceFilter = await judge(tenantId, filterInput)
      const by = (sort?.replace('-', '') ?? 'enrolled_at') as Sort
      const found = await db.inTenant(tenantId, async (tx) => {
        const dense = await denseDeviceFilters(tx, tenantId, deviceFilter, by)
        const page = await pager.list(
          queries.selectDevices(tx, tenantId, deviceFilter, dense, by),
          {
            operation: 'listDevices',
            tenant: tenantId,
            query,
            orders,
            tie: by === 'last_seen_at' ? 'activity.device_id' : 'devices.device_id',
            walked: walkedWith(dense),
          },
          queries.walkDevices(tx, tenantId, deviceFilter, dense, by),
        )
        return { ...page, names: await findNames(tx, tenantId, namesInDevices(page.items)) }
      })
      const views = await Promise.all(
        found.items.map((row) =>
          mapMaybePromise(shownPolicyOf(tenantId, row.device_id), (policy) =>
            viewDevice(row, policy, found.names, deviceFilter.at),
          ),
        ),
      )
      // A verdict that has just turned is stored soon (`policy/stored-verdicts.ts`).
      const items = views.filter(
        (view) => filterInput.posture === undefined || view.posture.verdict === filterInput.posture,
      )
      const total = count && (await counts.total(tenantId, filterInput))
      return { items, next_cursor: found.next_cursor, ...(total && { total }) }
    },
    getDevice: async ({ actor, params }) => {
      const { row, view } = await read(actor.tenantId, idOf('device', params.device_id))
      return versioned(deviceVersion(row), view)
    },
    changeDevice: async ({ actor, body, expected }) => {
      const { reason } = body
      const deviceId = idOf('device', body.device_id)
      if (body.operation !== 'update' && body.device) failField('device', 'is allowed only with operation update')
      const changed =
        body.operation === 'update'
          ? await lifecycle.update(actor, deviceId, readPatch(body.device), { reason, expected })
          : await lifecycle.change(actor, deviceId, body.operation, { reason, expected })
      return { operation: body.operation, changed, device: (await read(actor.tenantId, deviceId)).view }
    },
    changeDevices: async ({ actor, body }) => {
      const { operation, device_ids, filter, reason } = body
      if ((device_ids === undefined) === (filter === undefined))
        failField('device_ids', 'give either device_ids or filter')
      const which = device_ids ? { ids: device_ids } : await matching(actor.tenantId, filter ?? {})
      const results = await lifecycle.changeMany(actor, which, operation, { reason, dryRun: body.dry_run ?? false })
      const count = (outcome: string) => results.filter((r) => r.outcome === outcome).length
      return {
        matched: results.length,
        results,
        summary: { changed: count('changed'), unchanged: count('unchanged'), failed: count('failed') },
      }
    },
  } satisfies Partial<Handlers>
}

/** Number of rows visited for one page. Filters that need rows of other tables get fewer. */
const walkedWith = (dense: DenseDeviceFilters): number =>
  // Each row needs a look-up of its user, of locks and of groups, or of sessions.
  dense.has('presence') || dense.has('gateway_id') || dense.has('channel')
    ? 2_000
    : dense.has('effective_status')
      ? 4_000
      : 6_000

function readPatch(
  device:
    | { name?: string; tags?: string[]; channel?: 'auto' | 'canary' | 'stable'; user_id?: string | null }
    | undefined,
): DevicePatch {
  if (!device) failField('device', 'is required with operation update')
  const { user_id, ...rest } = device
  if (user_id === undefined) return rest
  return {
    ...rest,
    user_id: user_id === null ? null : (decodeId('user', user_id) ?? failField('device.user_id', 'no such user')),
  }
}

/** A device seen at this time or later is online. */
const onlineSince = (at: Date) => new Date(at.getTime() - onlineSeconds * second)
