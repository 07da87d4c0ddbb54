import { aOrAn, type Noun } from '@holdfast/contract/vocabulary'
import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { Handlers } from '../../http/handlers.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { failField } from '../../kernel/app-error.ts'
import { decodeId, idOf, missing } from '../../kernel/ids.ts'
import { whenReady } from '../../kernel/ready.ts'
import { versioned } from '../../kernel/version.ts'
import type { DevicePatch } from './devices.queries.ts'
import type { DeviceFilter } from './find.queries.ts'
import * as queries from './find.queries.ts'
import { type Lifecycle, versionOf } from './lifecycle.ts'
import { type PolicyOf, viewDevice } from './view.ts'

type FilterInput = Omit<DeviceFilter, 'user_id'> & { user_id?: string }

const orders = {
  enrolled_at: { column: 'devices.enrolled_at', kind: 'time' },
  name: { column: 'devices.name', kind: 'text' },
} as const

export function deviceHandlers({
  db,
  pager,
  lifecycle,
  policyOf,
  now,
}: {
  db: Database
  pager: Pager
  lifecycle: Lifecycle
  now: () => Date
  policyOf: (tenant: TenantId, deviceId: string) => PolicyOf | Promise<PolicyOf>
}) {
  const read = async (tenant: TenantId, deviceId: string) => {
    const at = now()
    const row = (await db.inTenant(tenant, (tx) => queries.findDevice(tx, tenant, deviceId, at))) ?? missing('device')
    return { row, view: viewDevice(row, await policyOf(tenant, deviceId), at) }
  }

  return {
    listDevices: async ({ actor, query }) => {
      const { tenantId } = actor
      const { limit: _, cursor: __, sort: ___, ...filter } = query
      const wanted = readFilter(filter)
      const at = now()
      const found = await db.inTenant(tenantId, async (tx) => {
        const dense = await queries.denseFilters(tx, tenantId, wanted)
        return pager.list(
          queries.selectDevices(tx, tenantId, wanted, dense, at),
          {
            operation: 'listDevices',
            tenant: tenantId,
            query,
            orders,
            otherwise: '-enrolled_at',
            tie: 'devices.device_id',
            ...(dense.has('posture') && { walked: 6_000 }),
            // Each costs a look at its user, at locks and at groups.
            ...(dense.has('effective_status') && { walked: 4_000 }),
          },
          queries.walkDevices(tx, tenantId, wanted, dense),
        )
      })
      const items = await Promise.all(
        found.items.map((row) => whenReady(policyOf(tenantId, row.device_id), (policy) => viewDevice(row, policy, at))),
      )
      return { items, next_cursor: found.next_cursor }
    },
    getDevice: async ({ actor, params }) => {
      const { row, view } = await read(actor.tenantId, idOf('device', params.device_id))
      return versioned(versionOf(row), view)
    },
    changeDevice: async ({ actor, body, expected }) => {
      const { reason } = body
      const deviceId = idOf('device', body.device_id)
      if (body.operation !== 'update' && body.device) failField('device', 'goes with the operation update')
      const changed =
        body.operation === 'update'
          ? await lifecycle.update(actor, deviceId, readPatch(body.device), { reason, expected })
          : await lifecycle.change(actor, deviceId, body.operation, { reason, expected })
      return { operation: body.operation, changed, device: (await read(actor.tenantId, deviceId)).view }
    },
    changeDevices: async ({ actor, body }) => {
      const { operation, device_ids, filter, reason } = body
      if ((device_ids === undefined) === (filter === undefined))
        failField('device_ids', 'name the devices by device_ids or by filter, one of the two')
      const which = device_ids ? { ids: device_ids } : { filter: readFilter(filter ?? {}) }
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

/** TypeIDs → UUIDs. A malformed one in a body is 422 and named; in a query it was refused before. */
function readFilter(filter: FilterInput): DeviceFilter {
  const out: DeviceFilter = { ...filter }
  for (const [field, noun] of [
    ['user_id', 'user'],
    ['group_id', 'group'],
    ['token_id', 'enrollment_token'],
    ['provider_id', 'identity_provider'],
  ] as const satisfies [keyof DeviceFilter, Noun][]) {
    const id = filter[field]
    if (id === undefined) continue
    out[field] = decodeId(noun, id) ?? failField(`filter.${field}`, `is not the id of ${aOrAn(noun)}`)
  }
  return out
}

function readPatch(
  device:
    | { name?: string; tags?: string[]; channel?: 'auto' | 'canary' | 'stable'; user_id?: string | null }
    | undefined,
): DevicePatch {
  if (!device) failField('device', 'is required with the operation update')
  const { user_id, ...rest } = device
  if (user_id === undefined) return rest
  return {
    ...rest,
    user_id: user_id === null ? null : (decodeId('user', user_id) ?? failField('device.user_id', 'no such user')),
  }
}
