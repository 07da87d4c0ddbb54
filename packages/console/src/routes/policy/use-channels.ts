import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import type { Version } from './words.ts'

/** Versions that the table below the channels shows. */
const shownVersions = 8

const list = 'GET /v1/admin/policy'

/**
 * Reads the newest versions, and those of each channel. `stable[1]` is the version before the current one: a rollback
 * publishes its document.
 */
export function useChannels() {
  const stable = useApi(list, { query: { channel: 'stable', limit: 2 } })
  const canary = useApi(list, { query: { channel: 'canary', limit: 1 } })
  const versions = useApi(list, { query: { limit: shownVersions } })
  return { stable, canary, versions }
}

/** Reads the health of a canary; the gate evaluates it each minute. */
export const useHealth = (version: Version | undefined) =>
  useApi(
    'GET /v1/admin/policy/{bundle_id}/health',
    { params: { bundle_id: version?.bundle_id ?? '' } },
    { enabled: version !== undefined, everyMs: () => (version?.current ? healthEveryMs : undefined) },
  )
const healthEveryMs = 60_000

/** True once each query that runs has an answer: then the page is drawn as a whole, and nothing moves. */
export const areSettled = (...queries: readonly { isLoading: boolean }[]): boolean =>
  queries.every(({ isLoading }) => !isLoading)

/** Gateways by their name, and those that have not applied a version. */
export function useGatewaysOf(version: Version | undefined) {
  const can = useCan()
  const isOn = version !== undefined && can('operations:read')
  const gateways = useApi('GET /v1/admin/gateway/health', { query: { limit: 200 } }, { enabled: isOn })
  const pending = useApi(
    'GET /v1/admin/policy/{bundle_id}/pending',
    { params: { bundle_id: version?.bundle_id ?? '' }, query: { limit: 200 } },
    { enabled: isOn && version.current },
  )
  return { gateways, pending, mayRead: can('operations:read') }
}
