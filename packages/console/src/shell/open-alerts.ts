import type { OutputOf } from '../api/client.ts'
import { useCan } from '../api/me.ts'
import { useApi } from '../api/use-api.ts'
import { formatExact } from '../ui/format-time.ts'
import type { Mark } from '../ui/status.tsx'

const most = 50
export type Alert = OutputOf<'GET /v1/admin/notifications'>['items'][number]

export const severityMarks: Readonly<Record<Alert['severity'], Mark>> = {
  critical: 'bad',
  warning: 'warn',
  info: 'info',
}

/**
 * Returns the detail for the console: without lines that name a route of the API, with times in the console's format.
 */
export const detailOf = ({ detail }: Pick<Alert, 'detail'>): string =>
  detail
    .split('\n')
    .filter((line) => !/^(?:GET|POST) \//.test(line))
    .join(' ')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (at) => formatExact(at, 'utc'))

/** Returns the newest 50 open alerts, and their number as text: "50+" if there are more. */
export function useOpenAlerts() {
  const can = useCan()
  const query = useApi(
    'GET /v1/admin/notifications',
    { query: { state: 'open', limit: most } },
    { enabled: can('operations:read') },
  )
  const { data, isLoading } = query
  const alerts: readonly Alert[] = data?.items ?? []
  const shown = data?.next_cursor ? `${most}+` : String(alerts.length)
  return { alerts, count: alerts.length, shown, isLoading, isKnown: data !== undefined, query }
}
