import type { OutputOf } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { QueryView } from '../../ui/query-view.tsx'
import { Timeline } from '../../ui/timeline.tsx'

const most = 50
type Event = OutputOf<'GET /v1/audit/events'>['items'][number]

type Props = {
  /** Object that the events are about, or the party that caused them. */
  of: { target_id: string } | { actor_id: string }
  /** Noun of the object: `device`. */
  noun: string
  limit?: number
}

/** Newest events of the audit log about an object, or by it. */
export function Activity({ of, noun, limit = most }: Props) {
  const can = useCan()
  const query = useApi('GET /v1/audit/events', { query: { ...of, limit } }, { enabled: can('audit:read') })
  const isBy = 'actor_id' in of
  return (
    <QueryView query={query} what={`the activity of this ${noun}`} permission="audit:read">
      {({ items }) =>
        items.length === 0 ? (
          <p className="soft">{`The audit log has no event ${isBy ? 'by' : 'about'} this ${noun}.`}</p>
        ) : (
          <Timeline as="relative" entries={items.map((event) => entryOf(event, isBy))} />
        )
      }
    </QueryView>
  )
}

const entryOf = (event: Event, isBy: boolean) => ({
  id: event.event_id,
  at: event.timestamp,
  sub: sentenceOf(event, isBy),
  mark: event.outcome === 'success' ? ('ok' as const) : ('bad' as const),
  title: <span className="mono">{event.kind}</span>,
})

function sentenceOf({ actor, target, source_ip, outcome, changes }: Event, isBy: boolean): string {
  const party = isBy ? target : actor
  const who = party && `${isBy ? 'on' : 'by'} ${party.name ?? party.type.replaceAll('_', ' ')}`
  const by = [who, source_ip && `from ${source_ip}`].filter(Boolean).join(' ')
  const changed = Object.keys(changes ?? {}).slice(0, 4)
  return [outcome === 'success' ? by : `refused, ${by}`, changed.length > 0 && `changed ${changed.join(', ')}`]
    .filter(Boolean)
    .join(' · ')
}
