import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'

const most = 200

/**
 * Finds what names a group besides the policy. The API has no filter by group for these lists, so the newest 200 of
 * each are read.
 */
export function useBindings(group_id: string) {
  const can = useCan()
  const tokens = useApi(
    'GET /v1/admin/tokens',
    { query: { status: 'active', limit: most } },
    { enabled: can('enrollment_tokens:read') },
  )
  const providers = useApi(
    'GET /v1/admin/settings/providers',
    { query: { limit: most } },
    { enabled: can('settings:read') },
  )
  const locks = useApi(
    'GET /v1/admin/locks',
    { query: { status: 'active', target_type: 'group', limit: most } },
    { enabled: can('incidents:read') },
  )
  return {
    tokens: { query: tokens, found: tokens.data?.items.filter(({ group_ids }) => group_ids.includes(group_id)) },
    providers: {
      query: providers,
      found: providers.data?.items.flatMap(({ provider_id, name, group_mappings }) =>
        group_mappings.filter((to) => to.group_id === group_id).map(({ value }) => ({ provider_id, name, value })),
      ),
    },
    locks: { query: locks, found: locks.data?.items.filter(({ target }) => target.id === group_id) },
  }
}
