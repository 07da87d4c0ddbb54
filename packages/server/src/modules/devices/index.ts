import type { Noun } from '@holdfast/contract/vocabulary'
import { background, type Database } from '../../db/database.ts'
import { orderOf, type Pager } from '../../db/page.ts'
import type { Handlers } from '../../http/serve.ts'
import { jobSource, type TenantId } from '../../kernel/actor.ts'
import { fail, failField } from '../../kernel/app-error.ts'
import { decodeId } from '../../kernel/ids.ts'
import type { Changes } from '../../memory/changes.ts'
import type { Audit } from '../audit/index.ts'
import type { DeviceFilter, DevicePatch } from './devices.queries.ts'
import * as queries from './devices.queries.ts'
import type { Fleet } from './fleet.ts'
import { createLifecycle, type EndSessionsOf } from './lifecycle.ts'
import { type Appraise, createPosture } from './posture.ts'
import { type PolicyOf, viewDevice } from './view.ts'

export { createActivity } from './activity.ts'
export { addressCapacity, addressesOf } from './address.ts'
export { labelDevices, rememberProofs } from './devices.queries.ts'
export { createFleet, type Fleet } from './fleet.ts'
export type { FleetDevice, Selected } from './fleet-device.ts'
export type { Appraisal } from './posture.ts'
export { createDeviceVerifier, proofSeconds } from './verify.ts'

type FilterInput = Omit<DeviceFilter, 'user_id'> & { user_id?: string }

/** A sweep takes so many at a time until nothing is left. */
const sweepSize = 1000

export function createDevices(deps: {
  db: Database
  audit: Audit
  changes: Changes
  pager: Pager
  fleet: Fleet
  endSessionsOf: EndSessionsOf
  appraise: Appraise
  policyOf: (tenant: TenantId, deviceId: string) => Promise<PolicyOf>
  now: () => Date
}) {
  const { db, pager, policyOf, now } = deps
  const lifecycle = createLifecycle(deps)
  const posture = createPosture(deps)

  const view = async (tenant: TenantId, deviceId: string) => {
    const row = await db.inTenant(tenant, (tx) => queries.findDevice(tx, tenant, deviceId))
    return row ? viewDevice(row, await policyOf(tenant, deviceId)) : fail('not_found', 'no such device')
  }
  const uuidOf = (id: string) => decodeId('device', id) ?? fail('not_found', 'no such device')

  const handlers = {
    listDevices: async ({ actor, query }) => {
      const { limit, cursor, sort = '-enrolled_at', ...filter } = query
      const order = orderOf(
        sort,
        {
          enrolled_at: { column: 'devices.enrolled_at', kind: 'time' },
          name: { column: 'devices.name', kind: 'text' },
        },
        'devices.device_id',
      )
      const wanted = readFilter(filter, 'bad_request')
      const found = await db.inTenant(actor.tenantId, async (tx) => {
        const dense = await queries.denseFilters(tx, actor.tenantId, wanted)
        return pager.page(
          queries.selectDevices(tx, actor.tenantId, wanted, dense),
          { ...(limit && { limit }), ...(cursor && { cursor }) },
          order,
          `listDevices|${actor.tenantId}|${JSON.stringify(filter)}`,
          queries.walkDevices(tx, actor.tenantId, wanted, dense),
        )
      })
      const items = await Promise.all(
        found.items.map(async (row) => viewDevice(row, await policyOf(actor.tenantId, row.device_id))),
      )
      return { items, next_cursor: found.next_cursor }
    },
    getDevice: ({ actor, params }) => view(actor.tenantId, uuidOf(params.device_id)),
    changeDevice: async ({ actor, body }) => {
      const deviceId = uuidOf(body.device_id)
      if (body.operation !== 'update' && body.device) failField('device', 'goes with the operation update')
      const changed =
        body.operation === 'update'
          ? await lifecycle.update(actor, deviceId, readPatch(body.device), body.reason)
          : await lifecycle.change(actor, deviceId, body.operation, body.reason)
      return { operation: body.operation, changed, device: await view(actor.tenantId, deviceId) }
    },
    changeDevices: async ({ actor, body }) => {
      const { operation, device_ids, filter, reason } = body
      if ((device_ids === undefined) === (filter === undefined))
        failField('device_ids', 'name the devices by device_ids or by filter, one of the two')
      const which = device_ids ? { ids: device_ids } : { filter: readFilter(filter ?? {}, 'validation_error') }
      const results = await lifecycle.changeMany(actor, which, operation, { reason, dryRun: body.dry_run ?? false })
      const count = (outcome: string) => results.filter((r) => r.outcome === outcome).length
      return {
        matched: results.length,
        results,
        summary: { changed: count('changed'), unchanged: count('unchanged'), failed: count('failed') },
      }
    },
    reportPosture: async ({ actor, body }) => {
      const { at, appraisal } = await posture.report(actor, body.facts)
      return {
        verdict: appraisal.verdict,
        reported_at: at.toISOString(),
        next_report_before: appraisal.validUntil === null ? null : new Date(appraisal.validUntil).toISOString(),
        checks: appraisal.checks,
      }
    },
  } satisfies Partial<Handlers>

  return {
    handlers,
    forgetProofs: () => db.acrossTenants((tx) => queries.forgetProofs(tx, now()), background),
    /** Revokes the devices of ephemeral tokens that fell silent. */
    revokeSilent: async () => {
      for (let found = sweepSize; found === sweepSize; ) {
        const silent = await db.acrossTenants((tx) => queries.silentEphemerals(tx, now(), sweepSize), background)
        for (const [tenant, rows] of Map.groupBy(silent, (r) => r.tenant_id))
          await lifecycle.revokeAll(
            jobSource(tenant, 'revoke_silent_devices'),
            rows.map((r) => r.device_id),
            'ephemeral device fell silent',
          )
        found = silent.length
      }
    },
  }
}

/** TypeIDs of a filter → UUIDs; a malformed one is named. */
function readFilter(filter: FilterInput, code: 'bad_request' | 'validation_error'): DeviceFilter {
  const out: DeviceFilter = { ...filter }
  for (const [field, noun] of [
    ['user_id', 'user'],
    ['group_id', 'group'],
    ['token_id', 'enrollment_token'],
  ] as const satisfies [keyof DeviceFilter, Noun][]) {
    const id = filter[field]
    if (id === undefined) continue
    out[field] =
      decodeId(noun, id) ??
      (code === 'bad_request'
        ? fail(code, `${field}: is not an id of this kind`)
        : failField(`filter.${field}`, 'is not an id of this kind'))
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
