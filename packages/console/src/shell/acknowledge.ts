import { messageOf } from '../api/api-error.ts'
import { call } from '../api/client.ts'
import { expectOwnChange } from '../api/live.ts'
import { queryClient } from '../api/query-client.ts'
import { toast } from '../ui/toast.tsx'
import type { Alert } from './open-alerts.ts'

/** Acknowledges alerts one after the other until one fails, and shows how many were acknowledged. */
export async function acknowledge(alerts: readonly Alert[]): Promise<void> {
  expectOwnChange('notifications')
  const open = alerts.filter((alert) => alert.state === 'open')
  let changed = 0
  let failure: unknown
  for (const { notification_id } of open)
    try {
      const params = { notification_id }
      await call('POST /v1/admin/notifications/{notification_id}/acknowledge', { params })
      changed++
    } catch (e) {
      failure = e
      break
    }
  await queryClient.invalidateQueries({ queryKey: ['GET /v1/admin/notifications'] })
  const [first] = open
  if (failure !== undefined)
    toast({
      kind: 'bad',
      title: `${named(open.slice(changed))} still open`,
      text: messageOf(failure),
    })
  else if (first) toast({ title: open.length === 1 ? 'Alert acknowledged' : `${open.length} alerts acknowledged` })
}

const named = (alerts: readonly Alert[]): string =>
  alerts.length === 1 ? `“${alerts[0]?.title}” is` : `${alerts.length} alerts are`
