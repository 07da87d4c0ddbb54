import type { PolicyPostureCheck } from '@holdfast/contract/policy-document'
import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'

export type Check = PolicyPostureCheck & { id: string; rules: number }

/**
 * Returns the posture checks of the current policy of the stable channel, and the number of rules that require each.
 */
export function useChecks() {
  const can = useCan()
  const mayRead = can('policy:read')
  const list = useApi('GET /v1/admin/policy', { query: { channel: 'stable', limit: 1 } }, { enabled: mayRead })
  const bundle = list.data?.items[0]
  const detail = useApi(
    'GET /v1/admin/policy/{bundle_id}',
    { params: { bundle_id: bundle?.bundle_id ?? '' } },
    { enabled: bundle !== undefined },
  )
  const isEmpty = list.data !== undefined && bundle === undefined
  const data = isEmpty
    ? { version: undefined, checks: [] as Check[] }
    : detail.data && { version: detail.data.version, checks: checksOf(detail.data.policy as Document) }
  return {
    mayRead,
    data,
    error: list.error ?? detail.error,
    refetch: () => (list.error || !bundle ? list.refetch() : detail.refetch()),
    dataUpdatedAt: detail.dataUpdatedAt,
  }
}

type Document = {
  posture_checks?: Readonly<Record<string, PolicyPostureCheck>>
  rules: readonly { when?: { posture?: readonly string[] } }[]
}

function checksOf({ posture_checks: checks = {}, rules }: Document): Check[] {
  const rulesWith = (id: string) => rules.filter((rule) => rule.when?.posture?.includes(id)).length
  return Object.entries(checks).map(([id, check]) => ({ ...check, id, rules: rulesWith(id) }))
}
