import type { OutputOf } from '../../api/client.ts'
import { useApi } from '../../api/use-api.ts'
import { Legend } from '../../charts/legend.tsx'
import { AppLink } from '../../ui/app-link.tsx'
import { formatNumber, formatWord } from '../../ui/format.ts'
import { formatClock } from '../../ui/format-time.ts'
import { useTimeZone } from '../../ui/time-zone.ts'
import { Card } from './card.tsx'

type History = OutputOf<'GET /v1/admin/gateways/history'>
type State = History['items'][number]['states'][number]
/** Row of the card: one gateway, or a pool if there are many gateways. */
type Strip = { id: string; name: string; to: string; states: readonly State[] }

/** Most gateways that have a row each. More are shown as pools. */
const mostRows = 24
const mostGateways = 200
const every = 4
/** States from worst to best, in the order of the API. */
const order = ['down', 'degraded', 'never_seen', 'pending', 'draining', 'healthy'] as const
const looks = {
  healthy: 'ok',
  degraded: 'warn',
  down: 'bad',
  draining: 'drain',
  never_seen: 'none',
  pending: 'none',
} as const

/** State of each gateway by hour. */
export function GatewayHistoryCard() {
  const query = useApi(
    'GET /v1/admin/gateways/history',
    { query: { range: '24h', limit: mostGateways } },
    { everyMs: 300_000 },
  )
  return (
    <Card
      title="Gateway states, last 24 h"
      what="the history of the gateways"
      query={query}
      className="c12"
      aside={
        <Legend
          entries={[
            { id: 'ok', swatch: 'ok', label: 'Healthy' },
            { id: 'warn', swatch: 'warn', label: 'Degraded' },
            { id: 'bad', swatch: 'bad', label: 'Down' },
            { id: 'none', swatch: 'none', label: 'Not known' },
          ]}
        />
      }
    >
      {(history) =>
        history.items.length === 0 ? (
          <p className="soft">No gateway yet.</p>
        ) : (
          <>
            <Strips history={history} />
            {history.next_cursor && <p className="soft xs gap-above">The first {mostGateways} gateways.</p>}
          </>
        )
      }
    </Card>
  )
}

function Strips({ history }: { history: History }) {
  const zone = useTimeZone()
  const strips = stripsOf(history.items)
  const [columns, from] = [strips[0]?.states.length ?? 0, Date.parse(history.from)]
  const times = Array.from({ length: Math.ceil(columns / every) }, (_, i) =>
    formatClock(new Date(from + i * every * history.step_seconds * 1000).toISOString(), zone).slice(0, 5),
  )
  return (
    <div className="states">
      {strips.map((strip) => (
        <StripRow key={strip.id} strip={strip} />
      ))}
      <span className="xax" aria-hidden="true">
        {[...times, 'now'].map((time) => (
          <span key={time}>{time}</span>
        ))}
      </span>
    </div>
  )
}

function StripRow({ strip: { name, to, states } }: { strip: Strip }) {
  return (
    <>
      <AppLink className="trunc" to={to}>
        {name}
      </AppLink>
      <svg
        viewBox={`0 0 ${states.length * 10} 10`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${name}, hour by hour: ${sentenceOf(states)}`}
      >
        {states.map((state, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place
          <Cell key={place} state={state} x={place * 10} />
        ))}
      </svg>
    </>
  )
}

function Cell({ state, x }: { state: State; x: number }) {
  const look = state === null ? 'none' : looks[state]
  if (look === 'ok') return <rect className="s-ok" x={x} width="9.2" height="10" />
  if (look === 'none') return <rect className="s-none" x={x} width="9.2" height="10" />
  if (look === 'bad')
    return (
      <>
        <rect className="s-bad" x={x} width="9.2" height="10" />
        <rect className="s-cut" x={x + 2} y="4" width="5.2" height="2" />
      </>
    )
  return (
    <>
      <rect className="s-none" x={x} width="9.2" height="10" />
      <rect className={`s-${look}`} x={x} y="5" width="9.2" height="5" />
    </>
  )
}

/** Returns a summary: "20 h healthy, 3 h down, 1 h not known". */
function sentenceOf(states: readonly State[]): string {
  const counts = Map.groupBy(states, (state) => (state === null ? 'not known' : formatWord(state).toLowerCase()))
  return Array.from(counts, ([word, hours]) => `${formatNumber(hours.length)} h ${word}`).join(', ')
}

function stripsOf(items: History['items']): Strip[] {
  if (items.length <= mostRows)
    return items.map(({ gateway_id, gateway_name, states }) => ({
      id: gateway_id,
      name: gateway_name,
      states,
      to: `/admin/sessions?gateway_id=${gateway_id}`,
    }))
  return Array.from(
    Map.groupBy(items, (item) => item.pool_id),
    ([id, gateways]) => ({
      id,
      name: gateways[0]?.pool_name ?? '',
      to: `/admin/sessions?pool_id=${id}`,
      states: (gateways[0]?.states ?? []).map((_, i) => worstOf(gateways.map(({ states }) => states[i] ?? null))),
    }),
  )
}

const worstOf = (states: readonly State[]): State => order.find((state) => states.includes(state)) ?? null
