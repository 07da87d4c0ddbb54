import type { TenantId } from '../../../kernel/actor.ts'
import { hour } from '../../../kernel/time.ts'
import { everything } from '../../../replication/changes.ts'
import { tenantCache } from '../../../replication/tenant-cache.ts'
import type { CertificatesDeps } from '../deps.ts'
import { type NotGood, notGood } from './spcs.queries.ts'

const kinds = ['spcs', 'devices', 'users'] as const
type Stale = Record<(typeof kinds)[number], Set<string>>
const noneStale = (): Stale => ({ spcs: new Set(), devices: new Set(), users: new Set() })
const sizeOf = (stale: Stale) => kinds.reduce((sum, kind) => sum + stale[kind].size, 0)

/** Superseded and revoked certificates by `spc_id`, and the objects to be read again. */
type Standing = {
  readonly known: Map<string, NotGood>
  stale: Stale
  refreshing: Promise<void> | undefined
  sweptAt: number
}

/** Above this number the whole set is read again. */
const mostStale = 2000

/**
 * Superseded and revoked certificates of each tenant, in memory. After a change of a certificate, of its device or of
 * its user, the next reader refreshes only the affected ones.
 */
export function createCertificateStatuses({
  db,
  changes,
  feed,
  fleet,
  now,
}: Pick<CertificatesDeps, 'db' | 'changes' | 'feed' | 'fleet' | 'now'>) {
  const { get } = tenantCache<Standing>(
    { changes, feed },
    {
      // Certificates end with the authority that issued them.
      kinds: ['certificate', 'device', 'user', 'trust'],
      load: async (tenant) => {
        const rows = await db.inTenant(tenant, (tx) => notGood(tx, tenant, now()))
        return {
          known: new Map(rows.map((row) => [row.spc_id, row])),
          stale: noneStale(),
          refreshing: undefined,
          sweptAt: now().getTime(),
        }
      },
      patch: ({ stale }, list) => {
        for (const { kind, subject } of list) {
          if (subject === everything) return false
          const of = kind === 'certificate' ? stale.spcs : kind === 'device' ? stale.devices : stale.users
          of.add(subject)
        }
        return sizeOf(stale) <= mostStale
      },
    },
  )

  /** Changes that arrive meanwhile mark entries stale again. */
  async function refresh(tenant: TenantId, certificateStatus: Standing): Promise<void> {
    const { known, stale } = certificateStatus
    certificateStatus.stale = noneStale()
    try {
      const ofUsers = await Promise.all([...stale.users].map((id) => fleet.devicesOfUser(tenant, id)))
      const of = { spcIds: [...stale.spcs], deviceIds: [...stale.devices, ...ofUsers.flat()] }
      const rows = await db.inTenant(tenant, (tx) => notGood(tx, tenant, now(), of))
      for (const row of rows) known.set(row.spc_id, row)
    } catch (e) {
      for (const of of kinds) for (const id of stale[of]) certificateStatus.stale[of].add(id)
      throw e
    }
    sweep(certificateStatus)
  }
  function sweep(certificateStatus: Standing): void {
    const at = now()
    if (at.getTime() - certificateStatus.sweptAt < hour) return
    certificateStatus.sweptAt = at.getTime()
    for (const [id, { not_after }] of certificateStatus.known) if (not_after <= at) certificateStatus.known.delete(id)
  }

  /** Superseded and revoked certificates of a tenant, up to date with the newest change. */
  return async (tenant: TenantId): Promise<ReadonlyMap<string, NotGood>> => {
    const certificateStatus = await get(tenant)
    while (sizeOf(certificateStatus.stale) > 0 || certificateStatus.refreshing) {
      certificateStatus.refreshing ??= refresh(tenant, certificateStatus).finally(() => {
        certificateStatus.refreshing = undefined
      })
      await certificateStatus.refreshing
    }
    return certificateStatus.known
  }
}
export type StandingOf = ReturnType<typeof createCertificateStatuses>
