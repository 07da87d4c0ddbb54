import type { OutputOf } from '../../api/client.ts'
import { useApi } from '../../api/use-api.ts'
import { Legend } from '../../charts/legend.tsx'
import { CellStrip } from '../../ui/cell-strip.tsx'
import { formatNumber, formatWord } from '../../ui/format.ts'
import { Bullet } from '../../ui/progress.tsx'
import { Card } from './card.tsx'

type Gateway = OutputOf<'GET /v1/admin/gateway/health'>['items'][number]
const mostGateways = 200
const cellStates = {
  healthy: 'ok',
  degraded: 'warn',
  down: 'bad',
  draining: 'drain',
  never_seen: 'none',
  pending: 'none',
} as const

/** Pools with one cell for each gateway, and how full they are. */
export function GatewaysCard() {
  const query = useApi('GET /v1/admin/gateway/health', { query: { limit: mostGateways } }, { everyMs: 30_000 })
  return (
    <Card
      title="Gateways"
      what="the gateways"
      query={query}
      className="c6 row-policy"
      id="gateways"
      inset="none"
      aside={
        <Legend
          entries={[
            { id: 'ok', swatch: 'ok', label: 'Healthy' },
            { id: 'warn', swatch: 'warn', label: 'Degraded' },
            { id: 'bad', swatch: 'bad', label: 'Down' },
          ]}
        />
      }
    >
      {({ items, next_cursor }) =>
        items.length === 0 ? (
          <p className="soft in">No gateway yet. Make a pool, add a gateway to it, and start it with its secret.</p>
        ) : (
          <div className="in flush">
            <table className="mini">
              <thead>
                <tr>
                  <th scope="col">Pool</th>
                  <th scope="col">Gateways</th>
                  <th scope="col" className="n">
                    Serving
                  </th>
                  <th scope="col" className="n">
                    Sessions
                  </th>
                  <th scope="col" className="cap-b">
                    Capacity used
                  </th>
                </tr>
              </thead>
              <tbody>
                {Array.from(Map.groupBy(items, (gateway) => gateway.pool_id).values(), (gateways) => (
                  <PoolRow key={gateways[0]?.pool_id} gateways={gateways} />
                ))}
              </tbody>
            </table>
            {next_cursor && <p className="soft xs">The first {mostGateways} gateways.</p>}
          </div>
        )
      }
    </Card>
  )
}

function PoolRow({ gateways }: { gateways: readonly Gateway[] }) {
  const [first] = gateways
  const serving = gateways.filter((g) => g.status === 'healthy' || g.status === 'degraded').length
  const sessions = gateways.reduce((sum, g) => sum + g.active_sessions, 0)
  const capacity = gateways.every((g) => g.capacity !== null)
    ? gateways.reduce((sum, g) => sum + (g.capacity ?? 0), 0)
    : undefined
  const name = first?.pool_name ?? ''
  return (
    <tr>
      <th scope="row">
        {name}
        <small>{first?.region}</small>
      </th>
      <td>
        <CellStrip
          label={`${name}: ${serving} of ${gateways.length} gateways serve`}
          cells={gateways.map((g) => ({
            id: g.gateway_id,
            state: cellStates[g.status],
            label: `${g.name}: ${formatWord(g.status).toLowerCase()}, ${g.status_reason}`,
            to: `/admin/sessions?gateway_id=${g.gateway_id}`,
          }))}
        />
      </td>
      <td className="n">
        {serving}/{gateways.length}
      </td>
      <td className="n">{formatNumber(sessions)}</td>
      <td className="cap-b">
        {capacity === undefined ? (
          <span className="faint xs">no limit</span>
        ) : (
          <Bullet
            share={capacity === 0 ? 0 : sessions / capacity}
            label={`${name}: ${formatNumber(sessions)} of ${formatNumber(capacity)} sessions`}
          />
        )}
      </td>
    </tr>
  )
}
