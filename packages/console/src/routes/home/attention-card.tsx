import { useApi } from '../../api/use-api.ts'
import { detailOf, severityMarks } from '../../shell/open-alerts.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { classes } from '../../ui/classes.ts'
import { Icon } from '../../ui/icon.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { Card } from './card.tsx'

const most = 4

/** Newest open alerts. */
export function AttentionCard() {
  const query = useApi('GET /v1/admin/notifications', { query: { state: 'open', limit: 50 } })
  return (
    <Card
      title="Needs attention"
      what="the alerts"
      query={query}
      className="c4 row-chart"
      inset="none"
      aside={<AppLink to="/admin/alerts">All alerts</AppLink>}
      footer={query.data && footerOf(query.data.items.length, query.data.next_cursor !== null)}
    >
      {({ items }) =>
        items.length === 0 ? (
          <p className="soft in">No alert is open.</p>
        ) : (
          <ul className="attn">
            {items.slice(0, most).map((alert) => (
              <li key={alert.notification_id}>
                <span className={classes('d', severityMarks[alert.severity])} />
                <div>
                  <AppLink className="rowlink" to={`/admin/alerts?open=${alert.notification_id}`}>
                    {alert.title}
                  </AppLink>
                  <p>{detailOf(alert)}</p>
                </div>
                <Timestamp at={alert.created_at} className="faint xs num" />
              </li>
            ))}
          </ul>
        )
      }
    </Card>
  )
}

function footerOf(open: number, hasMore: boolean) {
  if (open === 0) return undefined
  if (open > most) return <span>{`${open - most}${hasMore ? '+' : ''} more`}</span>
  return (
    <>
      <Icon name="check" size="s" />
      <span>No other alert is open</span>
    </>
  )
}
