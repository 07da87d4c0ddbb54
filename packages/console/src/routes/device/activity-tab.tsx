import type { OutputOf } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { NoPermission, Problem } from '../../ui/problem.tsx'
import { SkeletonRows } from '../../ui/skeleton.tsx'
import { Timeline } from '../../ui/timeline.tsx'
import type { Device } from '../devices/words.ts'

const most = 50
type Event = OutputOf<'GET /v1/audit/events'>['items'][number]

/** The newest 50 events of the audit log about the device. */
export function ActivityTab({ device }: { device: Device }) {
  const can = useCan()
  const query = useApi(
    'GET /v1/audit/events',
    { query: { target_id: device.device_id, limit: most } },
    { enabled: can('audit:read') },
  )
  if (!can('audit:read')) return <NoPermission what="the audit log" permission="audit:read" />
  if (query.error) return <Problem error={query.error} retry={query.refetch} what="the activity of this device" />
  if (!query.data) return <SkeletonRows columns={1} />
  if (query.data.items.length === 0) return <p className="soft">The audit log has nothing about this device.</p>
  return (
    <Timeline
      as="relative"
      entries={query.data.items.map((event) => ({
        id: event.event_id,
        mark: event.outcome === 'success' ? 'ok' : 'bad',
        title: <span className="mono">{event.kind}</span>,
        at: event.timestamp,
        sub: sentenceOf(event),
      }))}
    />
  )
}

function sentenceOf({ actor, source_ip, outcome, changes }: Event): string {
  const by = `by ${actor.name ?? actor.type.replaceAll('_', ' ')}${source_ip ? ` from ${source_ip}` : ''}`
  const changed = Object.keys(changes ?? {}).slice(0, 4)
  return [outcome === 'success' ? by : `refused, ${by}`, changed.length > 0 && `changed ${changed.join(', ')}`]
    .filter(Boolean)
    .join(' · ')
}
