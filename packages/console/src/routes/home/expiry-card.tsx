import { formatWord } from '../../ui/format.ts'
import type { QueryState } from '../../ui/query-view.tsx'
import { type Mark, Status } from '../../ui/status.tsx'
import { Card } from './card.tsx'
import type { Overview } from './home-kpis.tsx'

type Query = QueryState<Overview>
const marks: Readonly<Record<string, Mark>> = { expired: 'bad', critical: 'bad', warning: 'warn', ok: 'ok' }

/** Credentials and certificates that expire soonest. */
export function ExpiryCard({ overview }: { overview: Query }) {
  return (
    <Card title="Expires soon" what="what expires" query={overview} className="c4 row-low" id="expires" inset="none">
      {({ expiring: { soonest } }) =>
        soonest.length === 0 ? (
          <p className="soft in">Nothing has to be renewed by hand.</p>
        ) : (
          <div className="in flush">
            <table className="mini">
              <thead className="vh">
                <tr>
                  <th scope="col">What</th>
                  <th scope="col">In</th>
                </tr>
              </thead>
              <tbody>
                {soonest.map((item) => (
                  <tr key={item.type + item.id}>
                    <th scope="row">
                      {item.name}
                      <small>{formatWord(item.type)}</small>
                    </th>
                    <td className="n">
                      <Status kind={marks[item.status] ?? 'ok'}>
                        {item.days_left < 0 ? 'expired' : `${item.days_left} d`}
                      </Status>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )
      }
    </Card>
  )
}
