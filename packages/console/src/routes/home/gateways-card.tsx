import type { OutputOf } from '../../api/client.ts'
import { useApi } from '../../api/use-api.ts'
import { Legend } from '../../charts/legend.tsx'
import { CellStrip } from '../../ui/cell-strip.tsx'
import { formatNumber, formatWord } from '../../ui/format.ts'
import { Bullet } from '../../ui/progress.tsx'
import { Table, type TableColumn } from '../../ui/table.tsx'
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

/** Pools with one cell for each gateway, and their use. */
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
          <p className="soft in">
            No gateway yet. Create a pool, add a gateway to it, and start the gateway with its secret.
          </p>
        ) : (
          <div className="in flush">
            <Table look="mini" columns={columns} rows={poolsOf(items)} keyOf={(pool) => pool.id} />
            {next_cursor && <p className="soft xs">The first {mostGateways} gateways.</p>}
          </div>
        )
      }
    </Card>
  )
}

type Pool = { id: string; name: string; gateways: readonly Gateway[]; serving: number; sessions: number }

const poolsOf = (items: readonly Gateway[]): Pool[] =>
  Array.from(
    Map.groupBy(items, (gateway) => gateway.pool_id),
    ([id, gateways]) => ({
      id,
      gateways,
      name: gateways[0]?.pool_name ?? '',
      serving: gateways.filter((g) => g.status === 'healthy' || g.status === 'degraded').length,
      sessions: gateways.reduce((sum, g) => sum + g.active_sessions, 0),
    }),
  )

const columns: readonly TableColumn<Pool>[] = [
  {
    label: 'Pool',
    isHead: true,
    cell: ({ name, gateways }) => (
      <>
        {name}
        <small>{gateways[0]?.region}</small>
      </>
    ),
  },
  { label: 'Gateways', cell: (pool) => <Cells pool={pool} /> },
  { label: 'Serving', className: 'n', cell: ({ serving, gateways }) => `${serving}/${gateways.length}` },
  { label: 'Sessions', className: 'n', cell: ({ sessions }) => formatNumber(sessions) },
  { label: 'Capacity used', className: 'cap-b', cell: (pool) => <Capacity pool={pool} /> },
]

const Cells = ({ pool: { name, gateways, serving } }: { pool: Pool }) => (
  <CellStrip
    label={`${name}: ${serving} of ${gateways.length} gateways serve`}
    cells={gateways.map((g) => ({
      id: g.gateway_id,
      state: cellStates[g.status],
      label: `${g.name}: ${formatWord(g.status).toLowerCase()}, ${g.status_reason}`,
      to: `/admin/sessions?gateway_id=${g.gateway_id}`,
    }))}
  />
)

function Capacity({ pool: { name, gateways, sessions } }: { pool: Pool }) {
  if (gateways.some((g) => g.capacity === null)) return <span className="faint xs">no limit</span>
  const capacity = gateways.reduce((sum, g) => sum + (g.capacity ?? 0), 0)
  return (
    <Bullet
      share={capacity === 0 ? 0 : sessions / capacity}
      label={`${name}: ${formatNumber(sessions)} of ${formatNumber(capacity)} sessions`}
    />
  )
}
