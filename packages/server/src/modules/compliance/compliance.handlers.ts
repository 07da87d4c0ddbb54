import type { Contract, Output } from '@holdfast/contract'
import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { Handlers } from '../../http/handlers.ts'
import { failField } from '../../kernel/app-error.ts'
import { encodeId, idOf } from '../../kernel/ids.ts'
import { versioned } from '../../kernel/version.ts'
import { type HoldRow, selectHolds } from './holds.queries.ts'
import type { Holds } from './holds.ts'
import type { RetentionRules, RetentionState } from './retention.ts'
import { viewRetention } from './retention.view.ts'

type Deps = { db: Database; pager: Pager; retention: RetentionRules; holds: Holds }

export function complianceHandlers({ db, pager, retention, holds }: Deps) {
  /** The ETag leaves out measured values: an audited read would change them for the next read. */
  const shown = (state: RetentionState) => {
    const content = viewRetention(state)
    return versioned(state.version, content, { ...content, classes: content.classes.map(withoutMeasures) })
  }

  return {
    getRetention: async ({ actor }) => shown(await retention.read(actor)),
    updateRetention: async ({ actor, body, expected }) =>
      shown(await retention.replace(actor, body.days, { expected, isTrial: body.dry_run === true })),

    listLegalHolds: ({ actor, query }) =>
      db.inTenant(actor.tenantId, async (tx) => {
        const found = await pager.list(selectHolds(tx, actor.tenantId), {
          operation: 'listLegalHolds',
          tenant: actor.tenantId,
          query,
          orders: { placed_at: { column: 'placed_at', kind: 'time' } },
          tie: 'legal_hold_id',
        })
        return { items: found.items.map(view), next_cursor: found.next_cursor }
      }),

    placeLegalHold: async ({ actor, body: { reason, classes = [], user_id, device_id } }) => {
      if (user_id !== undefined && device_id !== undefined)
        failField('device_id', 'cannot be combined with user_id: place two holds')
      const subject = {
        user: user_id === undefined ? null : idOf('user', user_id),
        device: device_id === undefined ? null : idOf('device', device_id),
      }
      return view(await holds.place(actor, { classes, subject }, reason))
    },
    releaseLegalHold: async ({ actor, params, body: { reason } }) => {
      const { hold, changed } = await holds.release(actor, idOf('legal_hold', params.legal_hold_id), reason)
      return { legal_hold: view(hold), changed }
    },
  } satisfies Partial<Handlers>
}

const withoutMeasures = (status: Output<Contract['getRetention']>['classes'][number]) => {
  const { rows, rows_are, bytes, over, oldest, next_purge, ...others } = status
  return others
}

const view = (h: HoldRow): Output<Contract['placeLegalHold']> => ({
  legal_hold_id: encodeId('legal_hold', h.legal_hold_id),
  reason: h.reason,
  classes: h.classes,
  user_id: h.user_id && encodeId('user', h.user_id),
  device_id: h.device_id && encodeId('device', h.device_id),
  subject_name: h.subject_name,
  placed_at: new Date(h.placed_at).toISOString(),
  placed_by: { type: h.placed_by_type, id: h.placed_by_id, name: h.placed_by_name },
  released_at: h.released_at && new Date(h.released_at).toISOString(),
  released_by:
    h.released_by_type === null ? null : { type: h.released_by_type, id: h.released_by_id, name: h.released_by_name },
  release_reason: h.release_reason,
})
