import type { RetentionClass } from '@holdfast/contract/vocabulary'
import type { Database, Tx } from '../../db/database.ts'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import { failMaximum } from '../../kernel/app-error.ts'
import { encodeId, missing, newUuid } from '../../kernel/ids.ts'
import type { Audit } from '../audit/index.ts'
import { deviceNameOf } from '../devices/index.ts'
import { usernameOf } from '../identity/index.ts'
import type { HoldRow } from './holds.queries.ts'
import * as queries from './holds.queries.ts'

/** Maximum number of active holds. Each hold makes purges slower. */
const mostStanding = 1000

/** User or device whose data is held; all data if both are null. */
type Subject = { user: string | null; device: string | null }
type Scope = { classes: RetentionClass[]; subject: Subject }

/** Legal holds: data under an active hold is never purged, regardless of the tenant's retention periods. */
export function createHolds({ db, audit, now }: { db: Database; audit: Audit; now: () => Date }) {
  const record = (
    tx: Tx,
    actor: Actor,
    kind: 'legal_hold.placed' | 'legal_hold.released',
    hold: HoldRow,
    reason: string,
  ) => {
    const legal_hold_id = encodeId('legal_hold', hold.legal_hold_id)
    const { classes, user_id, device_id } = hold
    return audit.record(
      tx,
      actor,
      kind,
      { legal_hold_id },
      {
        target: { type: 'legal_hold', id: legal_hold_id, name: hold.subject_name },
        details: {
          reason,
          classes,
          user_id: user_id && encodeId('user', user_id),
          device_id: device_id && encodeId('device', device_id),
        },
      },
    )
  }

  return {
    /** Once this returns, nothing under the hold is purged. */
    place: (actor: Actor, { classes, subject }: Scope, reason: string): Promise<HoldRow> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const tenant = actor.tenantId
        await queries.stopPurges(tx)
        // A tenant that is already deleted has lost its data.
        if (!(await queries.isThere(tx, tenant))) missing('tenant')
        const subject_name = await nameOf(tx, tenant, subject)
        if ((await queries.countStanding(tx, tenant)) >= mostStanding)
          failMaximum(
            `the tenant has ${mostStanding} legal holds`,
            'release a hold, or replace several holds by one that covers more',
          )
        const hold = await queries.insertHold(tx, {
          tenant_id: tenant,
          legal_hold_id: newUuid(),
          reason,
          classes,
          user_id: subject.user,
          device_id: subject.device,
          subject_name,
          placed_at: now(),
          placed_by_type: actor.type,
          placed_by_id: actor.id,
          placed_by_name: actor.name,
          released_at: null,
          released_by_type: null,
          released_by_id: null,
          released_by_name: null,
          release_reason: null,
        })
        await record(tx, actor, 'legal_hold.placed', hold, reason)
        return hold
      }),

    release: (actor: Actor, id: string, reason: string): Promise<{ hold: HoldRow; changed: boolean }> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const released = await queries.releaseHold(tx, actor.tenantId, id, {
          released_by_type: actor.type,
          released_by_id: actor.id,
          released_by_name: actor.name,
          release_reason: reason,
        })
        if (!released) {
          const hold = (await queries.findHold(tx, actor.tenantId, id)) ?? missing('legal_hold')
          return { hold, changed: false }
        }
        await record(tx, actor, 'legal_hold.released', released, reason)
        return { hold: released, changed: true }
      }),
  }
}
export type Holds = ReturnType<typeof createHolds>

async function nameOf(tx: Tx, tenant: TenantId, { user, device }: Subject): Promise<string | null> {
  if (user !== null) return (await usernameOf(tx, tenant, user)) ?? missing('user')
  if (device !== null) return (await deviceNameOf(tx, tenant, device)) ?? missing('device')
  return null
}
