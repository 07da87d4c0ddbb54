import type { Database } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { Notice, RaiseNotification } from '../../notifications/index.ts'
import { spokenOf } from '../plans/limits.ts'
import * as queries from './entitlement.queries.ts'
import type { Entitlements } from './entitlements.ts'
import { type MetricStatus, readStatus } from './status.ts'

type Alert = MetricStatus & { limit: number; level: 'approaching' | 'at_limit' | 'over'; since: Date }

const isAlert = (m: MetricStatus): m is MetricStatus & { limit: number; state: Alert['level'] } =>
  m.state !== 'ok' && m.limit !== null

/** Limits that are near, reached or exceeded. They are computed on request; a job notifies of them. */
export function createAlerts(deps: {
  db: Database
  now: () => Date
  entitlements: Pick<Entitlements, 'resolveIn'>
  notify: RaiseNotification
}) {
  const { db, now, notify } = deps
  const look = async (tx: Parameters<typeof readStatus>[0], tenant: TenantId) => {
    const at = now()
    const known = new Map((await queries.alertsOf(tx, tenant)).map((a) => [a.metric, a]))
    const { limits } = await deps.entitlements.resolveIn(tx, tenant)
    if (Object.values(limits).every((limit) => limit === null)) return { known, alerts: [] }
    const { metrics } = await readStatus(tx, tenant, { ...deps, at })
    const alerts = metrics.filter(isAlert).map((m): Alert => {
      const before = known.get(m.metric)
      return { ...m, level: m.state, since: before?.level === m.state ? before.since : at }
    })
    return { known, alerts }
  }

  return {
    list: async (tenant: TenantId): Promise<Alert[]> => (await db.inTenant(tenant, (tx) => look(tx, tenant))).alerts,

    /** Records when each alert began, and notifies administrators once of each level that a metric reaches. */
    watch: (tenant: TenantId): Promise<void> =>
      db.inTenant(tenant, async (tx) => {
        const { known, alerts } = await look(tx, tenant)
        for (const alert of alerts) {
          if (known.get(alert.metric)?.level === alert.level) continue
          await queries.putAlert(tx, tenant, alert)
          await notify(tx, tenant, noticeOf(tenant, alert))
        }
        const current = new Set<string>(alerts.map((a) => a.metric))
        for (const metric of known.keys()) if (!current.has(metric)) await queries.deleteAlert(tx, tenant, metric)
      }),
  }
}
export type Alerts = ReturnType<typeof createAlerts>

export const detailOf = ({ metric, used, limit, level, enforcement }: Alert): string => {
  const has = `${spokenOf[metric]}: ${used} of ${limit}.`
  if (level === 'approaching') return has
  return enforcement === 'soft'
    ? `${has} The server does not enforce this limit. If you need more, ask for a higher limit.`
    : `${has} Existing ones continue to work, but no more can be added: remove some, or ask for a higher limit.`
}

const severities = { approaching: 'info', at_limit: 'warning', over: 'warning' } as const
const titles = {
  approaching: 'is near its limit of',
  at_limit: 'has reached its limit of',
  over: 'is over its limit of',
}
const noticeOf = (tenant: TenantId, alert: Alert): Notice => ({
  kind: `entitlement.${alert.level}`,
  severity: severities[alert.level],
  title: `The tenant ${titles[alert.level]} ${spokenOf[alert.metric]} (${alert.used} of ${alert.limit})`,
  detail: detailOf(alert),
  subject: { type: 'tenant', id: encodeId('tenant', tenant), name: null },
  dedupe_key: `entitlement:${alert.metric}:${alert.level}:${alert.limit}`,
})
