import type { OutputOf } from '../api/client.ts'
import { useCan } from '../api/me.ts'
import { useApi } from '../api/use-api.ts'
import type { Mark } from '../ui/status.tsx'

const most = 50
export type Alert = OutputOf<'GET /v1/admin/notifications'>['items'][number]

export const severityMarks: Readonly<Record<Alert['severity'], Mark>> = {
  critical: 'bad',
  warning: 'warn',
  info: 'info',
}

/** The detail for a person at the console: without the lines that name a route of the API. */
export const detailOf = ({ detail }: Pick<Alert, 'detail'>): string =>
  detail
    .split('\n')
    .filter((line) => !/^(?:GET|POST) \//.test(line))
    .join(' ')

/** What waits for somebody: the newest 50, their number, and the number as it is shown ("50+" when there are more). */
export function useOpenAlerts(): { alerts: readonly Alert[]; count: number; shown: string; isLoading: boolean } {
  const can = useCan()
  const { data, isLoading } = useApi(
    'GET /v1/admin/notifications',
    { query: { state: 'open', limit: most } },
    { enabled: can('operations:read') },
  )
  const alerts = data?.items ?? []
  return { alerts, count: alerts.length, shown: data?.next_cursor ? `${most}+` : String(alerts.length), isLoading }
}
