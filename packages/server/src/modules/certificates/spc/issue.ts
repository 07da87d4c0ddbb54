import { setTimeout as delay } from 'node:timers/promises'
import { foreground } from '../../../db/database.ts'
import type { Actor, Source, TenantId } from '../../../kernel/actor.ts'
import { AppError, fail, failField, failMaximum } from '../../../kernel/app-error.ts'
import { BoundedMap } from '../../../kernel/bounded-map.ts'
import { createGroupCommit } from '../../../kernel/group-commit.ts'
import { encodeId, missing } from '../../../kernel/ids.ts'
import { hour } from '../../../kernel/time.ts'
import type { FleetDevice } from '../../devices/index.ts'
import type { CertificatesDeps } from '../deps.ts'
import type { HeldDevice } from './issue.queries.ts'
import * as queries from './issue.queries.ts'
import { createPrepare, keyOfRequest, type Prepared } from './prepare.ts'
import type { SpcRow } from './spcs.queries.ts'

/** Time for which a rotated certificate stays valid beside its replacement. */
const overlap = hour
/** Maximum number of active certificates of a device. */
const mostOfDevice = 10

type IssueRequest = Prepared & { source: Source }
type Refusal =
  | ('busy' | 'pending' | 'suspended' | 'revoked' | 'locked' | 'user_suspended')
  | ('key_taken' | 'too_many' | 'not_active')

const refusals: Record<Exclude<Refusal, 'busy'>, () => never> = {
  pending: () => fail('validation_error', 'the device waits for approval'),
  suspended: () => fail('validation_error', 'the device is suspended'),
  revoked: () => fail('validation_error', 'the device is revoked'),
  locked: () => fail('validation_error', 'the device, its user, group or tenant is locked'),
  user_suspended: () => fail('validation_error', 'the user of the device is suspended'),
  key_taken: () =>
    failField('csr', 'its key already had a certificate, or belongs to another device: generate a new key'),
  too_many: () => failMaximum(`the device has ${mostOfDevice} valid certificates`, 'rotate or revoke one'),
  not_active: () => fail('validation_error', 'the certificate is not active: issue a new one'),
}

/**
 * Issues certificates: first signs, then stores them. Concurrent requests of a tenant share a transaction. Rows are
 * locked in one order: users, their devices, the replaced certificates. The transaction does not wait for locked
 * devices or users; their requests leave the batch and are retried.
 */
export function createIssuing(deps: CertificatesDeps) {
  const { db, audit, changes, fleet, now } = deps
  const prepare = createPrepare(deps)
  const queues = new BoundedMap<TenantId, (issueRequest: IssueRequest) => Promise<Refusal | 'issued'>>(10_000)

  const write = (tenant: TenantId, batch: readonly IssueRequest[]): Promise<(Refusal | 'issued')[]> =>
    db.inTenant(tenant, async (tx) => {
      const at = now()
      const rows = batch.map((a) => a.row)
      const deviceIds = [...new Set(rows.map((row) => row.device_id))]
      const devices = await queries.holdDevices(tx, tenant, rows)
      const keys = await queries.devicesWithKeys(
        tx,
        tenant,
        batch.map((a) => a.thumbprint),
      )
      const counts = await queries.countsOf(tx, tenant, deviceIds, at)
      const replaced = rows.flatMap((row) => row.replaces ?? [])
      const active = replaced.length > 0 ? await queries.lockActive(tx, tenant, replaced, at) : new Map()
      const verdicts = batch.map(({ row, thumbprint }): Refusal | 'issued' => {
        const refusal = refusalOf(devices.get(row.device_id))
        if (refusal) return refusal
        if ((keys.get(thumbprint) ?? row.device_id) !== row.device_id) return 'key_taken'
        // Of several requests to replace the same certificate, the first succeeds.
        if (row.replaces !== null) return active.delete(row.replaces) ? 'issued' : 'not_active'
        const count = (counts.get(row.device_id) ?? 0) + 1
        counts.set(row.device_id, count)
        return count > mostOfDevice ? 'too_many' : 'issued'
      })
      const good = batch.filter((_, i) => verdicts[i] === 'issued')
      if (good.length === 0) return verdicts
      const inserted = await queries.insertSpcs(
        tx,
        tenant,
        good.map((a) => ({ ...a.row, user_id: devices.get(a.row.device_id)?.user_id ?? null })),
      )
      const issued = good.filter((a) => inserted.has(a.row.spc_id))
      const over = issued.flatMap((a) => a.row.replaces ?? [])
      if (over.length > 0) await queries.supersede(tx, tenant, over, new Date(at.getTime() + overlap))
      await audit.recordAll(tx, issued.map(eventOf))
      if (over.length > 0)
        await changes.record(
          tx,
          tenant,
          over.map((subject) => ({ kind: 'certificate', subject })),
        )
      return verdicts.map((v, i) => (v === 'issued' && !inserted.has(batch[i]!.row.spc_id) ? 'key_taken' : v))
    })

  async function joinBatch(tenant: TenantId, issueRequest: IssueRequest): Promise<void> {
    let queue = queues.get(tenant)
    if (!queue) {
      queue = createGroupCommit((batch: IssueRequest[]) => write(tenant, batch), {
        tenantOf: () => tenant,
        maxBatch: 100,
        maxQueue: 2000,
        maxPerTenant: 2000,
        gathers: true,
      })
      queues.set(tenant, queue)
    }
    const until = performance.now() + foreground.total
    for (let next = issueRequest; ; ) {
      const outcome = await queue(next)
      if (outcome === 'issued') return
      if (outcome !== 'busy') return refusals[outcome]()
      if (performance.now() > until)
        throw new AppError('internal_error', 'the device is being changed by another request: try again', {
          retryAfterSeconds: 2,
        })
      await delay(50 + Math.random() * 100)
      const { userId } = await deviceOf(tenant, issueRequest.row.device_id)
      next = { ...issueRequest, row: { ...issueRequest.row, user_id: userId } }
    }
  }

  /** The fleet has no revoked devices. */
  async function deviceOf(tenant: TenantId, deviceId: string): Promise<FleetDevice> {
    const device = await fleet.device(tenant, deviceId)
    if (device) return device
    const isKnown = await db.inTenant(tenant, (tx) => queries.isDevice(tx, tenant, deviceId))
    return isKnown ? refusals.revoked() : missing('device')
  }

  return async (actor: Actor, deviceId: string, csr: string, replaces: SpcRow | null): Promise<Prepared> => {
    const tenant = actor.tenantId
    const key = keyOfRequest(csr)
    const device = await deviceOf(tenant, deviceId)
    const prepared = await prepare(tenant, device, key, replaces?.spc_id ?? null)
    await joinBatch(tenant, { ...prepared, source: actor })
    return prepared
  }
}
export type IssueCertificates = ReturnType<typeof createIssuing>

function refusalOf(device: HeldDevice | undefined): Refusal | undefined {
  if (!device) return 'busy'
  if (device.status !== 'active') return device.status
  if (device.is_locked) return 'locked'
  return device.isUserSuspended ? 'user_suspended' : undefined
}

function eventOf({ source, row }: IssueRequest) {
  const spc_id = encodeId('spc', row.spc_id)
  const device_id = encodeId('device', row.device_id)
  const more = { target: { type: 'spc', id: spc_id, name: null }, details: { not_after: row.not_after.toISOString() } }
  return row.replaces === null
    ? ({ source, kind: 'spc.issued', fields: { spc_id, device_id }, more } as const)
    : ({
        source,
        kind: 'spc.rotated',
        fields: { spc_id, device_id, replaces: encodeId('spc', row.replaces) },
        more,
      } as const)
}
