import type { Database } from '../../db/database.ts'
import { jobSource, type TenantId } from '../../kernel/actor.ts'
import { eachTenant } from '../../kernel/each-tenant.ts'
import { encodeId } from '../../kernel/ids.ts'
import { day } from '../../kernel/time.ts'
import * as queries from './notifications.queries.ts'
import type { Notice, NotificationRules } from './notifications.ts'

/** A gateway that has fallen silent. */
export type SilentGateway = { tenantId: TenantId; gatewayId: string; name: string; lastSeenAt: Date }
/** What stops working at a known time: `id` as on the wire, `since` when it was made. */
export type Expiry = { type: string; id: string; name: string; since: Date; expiresAt: Date }
/** Given by other modules: what is to be watched. */
export type Watched = {
  gatewaysDown: () => Promise<readonly SilentGateway[]>
  tenants: () => Promise<readonly TenantId[]>
  expiries: readonly ((tenant: TenantId) => Promise<readonly Expiry[]>)[]
}
type Caused = Notice & { dedupe_key: string }

const bySystem = { type: 'system', id: null, name: 'system' }
const warnAtDays = [1, 7, 14, 30]

/** Work that runs by itself and looks for what administrators should know. */
export function createWatch({
  db,
  now,
  rules,
  onError,
}: {
  db: Database
  now: () => Date
  rules: Pick<NotificationRules, 'notify' | 'acknowledgeAs'>
  onError: (e: Error) => void
}) {
  /** Each cause once and for all: acknowledging does not bring it back. */
  const raiseOnce = (tenant: TenantId, notices: readonly Caused[]) =>
    db.inTenant(tenant, async (tx) => {
      const keys = notices.map((n) => n.dedupe_key)
      const known = await queries.knownCauses(tx, tenant, keys)
      // In one order everywhere: two replicas that raise the same causes wait for each other, not in a circle.
      for (const notice of notices.toSorted((a, b) => (a.dedupe_key < b.dedupe_key ? -1 : 1)))
        if (!known.has(notice.dedupe_key)) await rules.notify(tx, tenant, notice)
    })

  return {
    /**
     * One notification for each silence, closed by the system when the gateway reports again or is taken out of use.
     */
    watchGateways: async (gatewaysDown: Watched['gatewaysDown']): Promise<void> => {
      const down = Map.groupBy(await gatewaysDown(), (g) => g.tenantId)
      const open = await db.acrossTenants((tx) => queries.tenantsWithOpen(tx, 'gateway.down'))
      await eachTenant(new Set([...down.keys(), ...open]), async (tenant) => {
        const notices = (down.get(tenant) ?? []).map(silenceOf)
        if (notices.length > 0) await raiseOnce(tenant, notices)
        const stillDown = new Set(notices.map((n) => n.dedupe_key))
        const source = jobSource(tenant, 'watch_gateways')
        for (const n of await db.inTenant(tenant, (tx) => queries.openOfKind(tx, tenant, 'gateway.down')))
          if (n.dedupe_key === null || !stillDown.has(n.dedupe_key))
            await db.inTenant(tenant, (tx) => rules.acknowledgeAs(tx, source, bySystem, n))
      })
    },

    /** One notification for each thing and threshold that it has passed. What fails for one tenant stops no other. */
    warnOfExpiry: async (listTenants: Watched['tenants'], sources: Watched['expiries']): Promise<void> => {
      const warn = async (tenant: TenantId, source: (typeof sources)[number]) => {
        const expiries = await source(tenant)
        const at = now()
        const notices = expiries.flatMap((e) => warningOf(e, at) ?? [])
        if (notices.length > 0) await raiseOnce(tenant, notices)
      }
      for (const tenant of await listTenants()) for (const source of sources) await warn(tenant, source).catch(onError)
    },
  }
}

const silenceOf = ({ gatewayId, name, lastSeenAt }: SilentGateway): Caused => ({
  kind: 'gateway.down',
  severity: 'critical',
  title: `Gateway ${name} is down`,
  detail: `Its last report was at ${lastSeenAt.toISOString()}. Devices are sent to the other gateways of its pool; sessions through it have ended or will soon.`,
  subject: { type: 'gateway', id: encodeId('gateway', gatewayId), name },
  dedupe_key: `gateway.down:${gatewayId}:${lastSeenAt.toISOString()}`,
})

/** The nearest threshold that has passed. What was made to live no longer than a threshold is not warned of at it. */
function warningOf({ type, id, name, since, expiresAt }: Expiry, at: Date): Caused | undefined {
  const left = expiresAt.getTime() - at.getTime()
  const days = warnAtDays.find((d) => left <= d * day)
  if (left <= 0 || days === undefined || expiresAt.getTime() - since.getTime() <= days * day) return undefined
  const noun = type.replaceAll('_', ' ')
  return {
    kind: 'expiring',
    severity: days === 1 ? 'critical' : days === 7 ? 'warning' : 'info',
    title: `The ${noun} ${name} expires in ${days === 1 ? 'a day' : `${days} days`} or less`,
    detail: `It stops working at ${expiresAt.toISOString()}. Replace it before then.`,
    subject: { type, id, name },
    dedupe_key: `expiring:${id}:${expiresAt.toISOString()}:${days}`,
  }
}
