import type { Database } from '../../../db/database.ts'
import type { Handlers } from '../../../http/handlers.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { tenantOf } from '../tenant-id.ts'
import { type Alerts, detailOf } from './alerts.ts'
import type { Entitlements } from './entitlements.ts'
import { readStatus } from './status.ts'

export function entitlementHandlers(deps: {
  db: Database
  now: () => Date
  entitlements: Entitlements
  alerts: Alerts
}) {
  const { db, now, entitlements, alerts } = deps
  return {
    getEntitlement: async ({ actor, params }) => {
      const id = tenantOf(actor, params.tenant_id)
      const found = await db.inTenant(id, (tx) => entitlements.resolveIn(tx, id))
      const { limits, sources, features, edition, licenseState, plan } = found
      return {
        tenant_id: encodeId('tenant', id),
        plan,
        edition,
        license_state: licenseState,
        limits,
        sources,
        features: [...features],
      }
    },

    getEntitlementStatus: async ({ actor, params }) => {
      const id = tenantOf(actor, params.tenant_id)
      const { resolved, metrics, blocked } = await db.inTenant(id, (tx) =>
        readStatus(tx, id, { entitlements, at: now() }),
      )
      return {
        tenant_id: encodeId('tenant', id),
        license_state: resolved.licenseState,
        metrics: metrics.map(({ used, limit, ...m }) => ({
          ...m,
          used,
          limit,
          remaining: limit === null ? null : Math.max(0, limit - used),
          percent: limit === null || limit === 0 ? null : Math.round((used / limit) * 1000) / 10,
        })),
        blocked,
      }
    },

    listEntitlementAlerts: async ({ actor, params }) => {
      const id = tenantOf(actor, params.tenant_id)
      return {
        tenant_id: encodeId('tenant', id),
        items: (await alerts.list(id)).map((a) => ({
          metric: a.metric,
          level: a.level,
          used: a.used,
          limit: a.limit,
          since: a.since.toISOString(),
          detail: detailOf(a),
        })),
      }
    },
  } satisfies Partial<Handlers>
}
