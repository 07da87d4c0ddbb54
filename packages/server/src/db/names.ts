import { sql } from 'kysely'
import type { TenantId } from '../kernel/actor.ts'
import { decodeId } from '../kernel/ids.ts'
import type { Tx } from './database.ts'

/** Tables and columns with the names of things. */
const sources = {
  user: { table: 'users', id: 'user_id', name: 'username' },
  group: { table: 'groups', id: 'group_id', name: 'name' },
  device: { table: 'devices', id: 'device_id', name: 'name' },
  gateway: { table: 'gateways', id: 'gateway_id', name: 'name' },
  gateway_pool: { table: 'gateway_pools', id: 'pool_id', name: 'name' },
  enrollment_token: { table: 'enrollment_tokens', id: 'token_id', name: 'name' },
  identity_provider: { table: 'identity_providers', id: 'provider_id', name: 'name' },
  api_key: { table: 'api_keys', id: 'key_id', name: 'name' },
} as const
type Named = keyof typeof sources
type Ids = readonly (string | null | undefined)[]

export type Names = {
  /** Null for a null id, and for an unknown or deleted thing. */
  of: (noun: Named, id: string | null | undefined) => string | null
  ofAll: (noun: Named, ids: readonly string[]) => (string | null)[]
  /** Name of the user or API key with this TypeID. */
  ofMaker: (typeId: string | null) => string | null
}

const makerOf = (typeId: string | null): { noun: 'user' | 'api_key'; id: string } | undefined => {
  for (const noun of ['user', 'api_key'] as const) {
    const id = typeId === null ? undefined : decodeId(noun, typeId)
    if (id !== undefined) return { noun, id }
  }
  return undefined
}

/** Returns the present names of things of a tenant by their UUIDs; `makers` are TypeIDs. Takes one query, or none. */
export async function findNames(
  tx: Tx,
  tenant: TenantId,
  { makers = [], ...ids }: { [N in Named]?: Ids } & { makers?: readonly (string | null)[] },
): Promise<Names> {
  const idsByKind = new Map<Named, Set<string>>()
  const want = (noun: Named, id: string | null | undefined) => {
    if (!id) return
    const known = idsByKind.get(noun)
    if (known) known.add(id)
    else idsByKind.set(noun, new Set([id]))
  }
  for (const [noun, list] of Object.entries(ids) as [Named, Ids][]) for (const id of list) want(noun, id)
  for (const maker of makers.map(makerOf)) if (maker) want(maker.noun, maker.id)

  const parts = [...idsByKind].map(([noun, set]) => {
    const { table, id, name } = sources[noun]
    return sql`select ${sql.lit(noun)} as noun, ${sql.ref(id)} as id, ${sql.ref(name)} as name from ${sql.table(table)}
      where tenant_id = ${tenant} and ${sql.ref(id)} = any(${[...set]}::uuid[])`
  })
  const { rows } =
    parts.length === 0
      ? { rows: [] }
      : await sql<{ noun: Named; id: string; name: string }>`${sql.join(parts, sql` union all `)}`.execute(tx)
  const found = new Map(rows.map((r) => [`${r.noun} ${r.id}`, r.name]))
  const of = (noun: Named, id: string | null | undefined) => found.get(`${noun} ${id}`) ?? null
  return {
    of,
    ofAll: (noun, list) => list.map((id) => of(noun, id)),
    ofMaker: (typeId) => {
      const maker = makerOf(typeId)
      return maker ? of(maker.noun, maker.id) : null
    },
  }
}
