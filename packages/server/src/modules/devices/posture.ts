import { contentDigest } from '@holdfast/crypto'
import type { Database } from '../../db/database.ts'
import type { PostureVerdict } from '../../db/tables/index.ts'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import { fail } from '../../kernel/app-error.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { Changes } from '../../memory/changes.ts'
import type { Audit } from '../audit/index.ts'
import type { Fleet } from './fleet.ts'
import type { FleetDevice } from './fleet-device.ts'
import { putPosture } from './posture.queries.ts'

export type Appraisal = {
  verdict: PostureVerdict
  validUntil: number | null
  checks: { id: string; passed: boolean; remediation: string | null }[]
}
/** The checks of the policy that the device is under, on facts reported at a time. Given by the policy module. */
export type Appraise = (
  tenant: TenantId,
  device: FleetDevice,
  posture: { facts: Record<string, unknown>; reported_at: number },
) => Promise<Appraisal>

export function createPosture({
  db,
  audit,
  changes,
  fleet,
  appraise,
  now,
}: {
  db: Database
  audit: Audit
  changes: Changes
  fleet: Fleet
  appraise: Appraise
  now: () => Date
}) {
  return {
    report: async (actor: Actor, facts: Record<string, unknown>) => {
      const at = now()
      const tenant = actor.tenantId
      const device = (await fleet.device(tenant, actor.principal.id)) ?? fail('not_found', 'no such device')
      const appraisal = await appraise(tenant, device, { facts, reported_at: at.getTime() })
      const facts_digest = contentDigest(facts)
      await db.inTenant(tenant, async (tx) => {
        const before = await putPosture(tx, tenant, {
          device_id: device.deviceId,
          facts,
          facts_digest,
          verdict: appraisal.verdict,
          reported_at: at,
        })
        if (before?.verdict !== appraisal.verdict) {
          const id = encodeId('device', device.deviceId)
          await audit.record(
            tx,
            actor,
            'posture.reported',
            { device_id: id, verdict: appraisal.verdict },
            {
              target: { type: 'device', id, name: device.name },
              changes: { verdict: [before?.verdict ?? null, appraisal.verdict] },
            },
          )
        }
        const changed = before?.facts_digest !== facts_digest || before.verdict !== appraisal.verdict
        if (changed || isHalfOver(device, appraisal, at.getTime()))
          await changes.record(tx, tenant, [{ kind: 'device', subject: device.deviceId }])
      })
      return { at, appraisal }
    },
  }
}
export type Posture = ReturnType<typeof createPosture>

/**
 * The same facts again only move the time they are good for: told to the others twice in that time, not at every
 * report.
 */
const isHalfOver = (device: FleetDevice, { validUntil }: Appraisal, nowMs: number) =>
  validUntil !== null && device.posture !== null && nowMs - device.posture.reported_at > (validUntil - nowMs) / 2
