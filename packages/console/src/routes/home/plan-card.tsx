import { formatNumber, formatPercent, formatWord } from '../../ui/format.ts'
import { Bullet } from '../../ui/progress.tsx'
import type { QueryState } from '../../ui/query-view.tsx'
import { Card } from './card.tsx'
import type { Overview } from './home-kpis.tsx'

type Query = QueryState<Overview>
const labels: Readonly<Record<string, string>> = { bandwidth_gb_month: 'Traffic, GB this month', api_keys: 'API keys' }
const fills = { ok: 'bx1', approaching: 'bxwarn', at_limit: 'bxbad', over: 'bxbad' } as const

/** Used share of each limit of the plan. */
export function PlanCard({ overview }: { overview: Query }) {
  return (
    <Card title="Plan" what="the plan" query={overview} className="c4 row-low" id="plan">
      {({ usage }) => (
        <div className="usage">
          {usage.map(({ metric, used, limit, state }) => {
            const label = labels[metric] ?? formatWord(metric)
            return (
              <div key={metric}>
                <div className="row between">
                  <span>{label}</span>
                  <span className="num soft xs">
                    {formatNumber(used)} / {limit === null ? 'no limit' : formatNumber(limit)}
                  </span>
                </div>
                {limit !== null && (
                  <Bullet
                    share={limit === 0 ? 1 : used / limit}
                    fill={fills[state]}
                    label={`${label}: ${formatPercent(limit === 0 ? 1 : used / limit)}`}
                  />
                )}
              </div>
            )
          })}
        </div>
      )}
    </Card>
  )
}
