import type { OutputOf } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { QueryView } from '../../ui/query-view.tsx'
import { Timeline } from '../../ui/timeline.tsx'
import type { Device } from '../devices/words.ts'

const most = 50
type Event = OutputOf<'GET /v1/audit/events'>['items'][number]

/** Newest 50 events of the audit log about the device. */
export function ActivityTab({ device }: { device: Device }) {
  const can = useCan()
  const query = useApi(
    'GET /v1/audit/events',
    { query: { target_id: device.device_id, limit: most } },
    { enabled: can('audit:read') },
  )
  return (
    <QueryView query={query} what="the activity of this device" permission="audit:read">
      {({ items }) =>
        items.length === 0 ? (
          <p className="soft">The audit log has no event about this device.</p>
        ) : (
          <Timeline as="relative" entries={items.map(entryOf)} />
        )
      }
    </QueryView>
  )
}

const entryOf = (event: Event) => ({
  id: event.event_id,
  at: event.timestamp,
  sub: sentenceOf(event),
  mark: event.outcome === 'success' ? ('ok' as const) : ('bad' as const),
  title: <span className="mono">{event.kind}</span>,
})

function sentenceOf({ actor, source_ip, outcome, changes }: Event): string {
  const by = `by ${actor.name ?? actor.type.replaceAll('_', ' ')}${source_ip ? ` from ${source_ip}` : ''}`
  const changed = Object.keys(changes ?? {}).slice(0, 4)
  return [outcome === 'success' ? by : `refused, ${by}`, changed.length > 0 && `changed ${changed.join(', ')}`]
    .filter(Boolean)
    .join(' · ')
}
