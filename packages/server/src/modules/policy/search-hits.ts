import type { Database } from '../../db/database.ts'
import { byRank, type HeldSource, joinDetail, type Match, rankOf, type StoredSource } from '../../db/search.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { type Idle, type Memory, tenantCache } from '../../replication/tenant-cache.ts'
import { currentDestinations, findBundles } from './policy.queries.ts'

type Destination = { name: string; detail: string | null }

const versionHits: StoredSource = {
  kind: 'policy_version',
  noun: 'policy_bundle',
  find: async (tx, { tenantId }, ids) =>
    (await findBundles(tx, tenantId, ids)).map(({ bundle_id: id, version, channel, note, digest }) => ({
      id,
      name: `v${version}`,
      detail: joinDetail(channel, note, digest.slice(0, 8)),
      status: null,
      allows: [],
    })),
}

/** Search hits for published versions, and for the resources and hosts of the policy in force. */
export function createPolicyHits({ db, idle, ...memory }: { db: Database; idle: Idle } & Memory): {
  versions: StoredSource
  resources: HeldSource
} {
  const load = (tenant: TenantId): Promise<Destination[]> =>
    db.inTenant(tenant, async (tx) => {
      const { resources, hosts } = (await currentDestinations(tx, tenant)) ?? {}
      return [
        ...Object.entries(resources ?? {}).map(([name, { dns = [], cidrs = [], services = [] }]) => {
          const [first, ...others] = [...dns, ...cidrs, ...services]
          return { name, detail: joinDetail(first, others.length > 0 && `${others.length} more`) }
        }),
        ...Object.entries(hosts ?? {}).map(([name, detail]) => ({ name, detail })),
      ]
    })
  const destinations = tenantCache<Destination[]>(memory, { kinds: ['policy'], load, idle })
  return {
    versions: versionHits,
    resources: {
      kind: 'policy_resource',
      match: async ({ tenantId }, text, most) => {
        const found = (await destinations.get(tenantId)).flatMap(({ name, detail }): Match[] => {
          const rank = rankOf([name], text)
          return rank === undefined ? [] : [{ id: name, name, detail, status: null, allows: [], rank }]
        })
        return found.sort(byRank).slice(0, most)
      },
    },
  }
}
