import type { Database } from '../../db/database.ts'
import { jobSource, type TenantId } from '../../kernel/actor.ts'
import { eachTenant } from '../../kernel/each-tenant.ts'
import { encodeId } from '../../kernel/ids.ts'
import * as queries from './notifications.queries.ts'
import type { Notice, NotificationRules } from './notifications.ts'

/** A gateway that has stopped reporting. */
type SilentGateway = { tenantId: TenantId; gatewayId: string; name: string; lastSeenAt: Date }
/** `isListenedFor`: the deployment could have received reports for as long as makes a gateway down. */
export type Silence = { gateways: readonly SilentGateway[]; isListenedFor: boolean }
type Caused = Notice & { dedupe_key: string }

type WatchDeps = { db: Database; rules: Pick<NotificationRules, 'notify' | 'closeOthers' | 'tenantsWithOpen'> }
/** Jobs that look for conditions that administrators should know. */
export function createWatch({ db, rules }: WatchDeps) {
  /** Notifies of each cause once ever: it does not return after it was acknowledged. */
  const raiseOnce = (tenant: TenantId, notices: readonly Caused[]) =>
    db.inTenant(tenant, async (tx) => {
      const keys = notices.map((n) => n.dedupe_key)
      const known = await queries.knownCauses(tx, tenant, keys)
      // The same order everywhere, so that two replicas that raise the same causes cannot deadlock.
      for (const notice of notices.toSorted((a, b) => (a.dedupe_key < b.dedupe_key ? -1 : 1)))
        if (!known.has(notice.dedupe_key)) await rules.notify(tx, tenant, notice)
    })

  return {
    /**
     * Makes one notification for each outage of a gateway. The system closes it when the gateway reports again or is
     * decommissioned. While the deployment could not receive reports, it makes none, and those of silent gateways stay
     * open.
     */
    watchGateways: async (silentGateways: () => Promise<Silence>): Promise<void> => {
      const { gateways, isListenedFor } = await silentGateways()
      const down = Map.groupBy(gateways, (g) => g.tenantId)
      const open = await rules.tenantsWithOpen('gateway.down')
      await eachTenant(new Set([...down.keys(), ...open]), async (tenant) => {
        const notices = (down.get(tenant) ?? []).map(silenceOf)
        if (isListenedFor && notices.length > 0) await raiseOnce(tenant, notices)
        const stillDown = new Set(notices.map((n) => n.dedupe_key))
        await rules.closeOthers(jobSource(tenant, 'watch_gateways'), 'gateway.down', stillDown)
      })
    },
  }
}

const silenceOf = ({ gatewayId, name, lastSeenAt }: SilentGateway): Caused => ({
  kind: 'gateway.down',
  severity: 'critical',
  title: `Gateway ${name} is down`,
  detail: `Its last report was at ${lastSeenAt.toISOString()}. Devices are directed to the other gateways of its pool. Its sessions have ended or will end soon.`,
  subject: { type: 'gateway', id: encodeId('gateway', gatewayId), name },
  dedupe_key: `gateway.down:${gatewayId}:${lastSeenAt.toISOString()}`,
})
