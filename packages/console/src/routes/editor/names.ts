import { call } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import type { Names } from '../../editor/complete.ts'
import type { Document } from '../../policy/difference.ts'
import { useStable } from '../../ui/use-stable.ts'

const most = 20
const none = async (): Promise<readonly string[]> => []

/** Names of the tenant and of a document, for completion and pickers. A caller without a permission gets none. */
export function useNames(document: Document | undefined): Names {
  const can = useCan()
  const own = useStable((part: Parameters<Names['own']>[0]) => Object.keys((document?.[part] ?? {}) as object))
  return {
    own,
    users: can('users:read') ? users : none,
    groups: can('groups:read') ? groups : none,
    devices: can('devices:read') ? devices : none,
    tags: can('devices:read') ? tags : none,
    pools: can('gateways:read') ? pools : none,
  }
}

const queryOf = (q: string) => ({ ...(q && { q }), limit: most })

const users = async (q: string) =>
  (await call('GET /v1/admin/users', { query: queryOf(q) })).items.map(({ username }) => username)
const groups = async (q: string) =>
  (await call('GET /v1/admin/groups', { query: queryOf(q) })).items.map(({ name }) => name)
const devices = async (q: string) =>
  (await call('GET /v1/admin/devices', { query: queryOf(q) })).items.map(({ device_id }) => device_id)
const pools = async () =>
  (await call('GET /v1/admin/settings/gateway-pools', { query: { limit: 200 } })).items.map(({ name }) => name)
/** Tags of the devices that a search finds: the API has no list of tags. */
const tags = async (q: string) => {
  const { items } = await call('GET /v1/admin/devices', { query: { limit: 100 } })
  return [...new Set(items.flatMap((device) => device.tags))].filter((tag) => tag.includes(q)).sort()
}
