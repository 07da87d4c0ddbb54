import type { Contract, Output } from '@holdfast/contract'
import type { ListPlace, Page, PageQuery } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import { type Assigned, notApplying } from '../devices/index.ts'
import { enforcedBy } from '../gateways/index.ts'
import type { DashboardDeps } from './deps.ts'

type Enforced = Awaited<ReturnType<typeof enforcedBy>>[number]
type Pending = Output<Contract['listPendingAdoption']>['items'][number]
type Found = { place: ListPlace; shown: Pending }
/** `end`: position reached, if there is more. */
type Compared = { found: Found[]; end: ListPlace | undefined }

/** Devices compared at once, and at most for one page. A page may be short, and its cursor continues the list. */
const atOnce = 1000
const mostCompared = 20_000

/** Counts the gateways that enforce this version or a later one. A gateway that has never reported is left out. */
export const adoptionBy = (gateways: readonly Enforced[], seq: number) => {
  const reporting = gateways.filter((g) => g.last_seen_at !== null)
  const pending = reporting.filter((g) => g.seq === null || g.seq < seq)
  return { applied: reporting.length - pending.length, pending }
}

/** Lists the gateways and devices that lag behind a delivered version: gateways first, each kind by ID. */
export function createPendingAdoption({
  db,
  pager,
  policy,
}: Pick<DashboardDeps, 'db' | 'pager'> & { policy: Pick<DashboardDeps['policy'], 'deliveredTo'> }) {
  async function gatewaysAfter(tenant: TenantId, seq: number, after: string): Promise<Found[]> {
    const { pending } = adoptionBy(await db.inTenant(tenant, (tx) => enforcedBy(tx, tenant)), seq)
    return pending.filter((g) => g.gateway_id > after).map((g) => viewGateway(g))
  }

  async function compare(tenant: TenantId, devices: readonly Assigned[], most: number): Promise<Compared> {
    const found: Found[] = []
    let compared = 0
    while (found.length < most && compared < Math.min(devices.length, mostCompared)) {
      const some = devices.slice(compared, compared + atOnce)
      const rows = await db.inTenant(tenant, (tx) => notApplying(tx, tenant, some, most - found.length))
      found.push(...rows.map(viewDevice))
      compared += some.length
    }
    const last = devices[compared - 1]
    return { found, end: last && compared < devices.length ? ['device', last.deviceId] : undefined }
  }

  return async (tenant: TenantId, bundleId: string, query: PageQuery): Promise<Page<Pending>> => {
    const delivered = await policy.deliveredTo(tenant, bundleId)
    const page = await pager.gather(
      { operation: `listPendingAdoption|${bundleId}`, tenant, query },
      async (after, most) => {
        if (!delivered) return { found: [] }
        const [kind, id] = after ?? (['gateway', ''] as const)
        const gateways = kind === 'gateway' ? await gatewaysAfter(tenant, delivered.seq, id) : []
        if (gateways.length >= most) return { found: gateways.slice(0, most) }
        const devices = kind === 'gateway' ? delivered.devices : delivered.devices.filter((d) => d.deviceId > id)
        const { found, end } = await compare(tenant, devices, most - gateways.length)
        return { found: [...gateways, ...found], end }
      },
      ({ place }) => place,
    )
    return { ...page, items: page.items.map(({ shown }) => shown) }
  }
}
export type ListPendingAdoption = ReturnType<typeof createPendingAdoption>

type Lagging = { name: string; applied_at: Date | null; last_seen_at: Date | null }
const viewOf = ({ name, applied_at, last_seen_at }: Lagging, applied_digest: string | null) => ({
  name,
  applied_digest,
  applied_at: applied_at?.toISOString() ?? null,
  last_seen_at: last_seen_at?.toISOString() ?? null,
})
const viewGateway = (g: Enforced): Found => ({
  place: ['gateway', g.gateway_id],
  shown: { type: 'gateway', id: encodeId('gateway', g.gateway_id), ...viewOf(g, g.digest) },
})
const viewDevice = (d: Awaited<ReturnType<typeof notApplying>>[number]): Found => ({
  place: ['device', d.device_id],
  shown: { type: 'device', id: encodeId('device', d.device_id), ...viewOf(d, d.applied_digest) },
})
