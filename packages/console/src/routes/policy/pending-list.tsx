import { AppLink } from '../../ui/app-link.tsx'
import { formatNumber } from '../../ui/format.ts'
import { Icon } from '../../ui/icon.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import type { useGatewaysOf } from './use-channels.ts'

/** Most objects listed. */
const shown = 6

/** Gateways and devices that have not confirmed a version. */
export function PendingList({ pending }: { pending: ReturnType<typeof useGatewaysOf>['pending'] }) {
  return (
    <div className="sect">
      <h3>Not yet in force on</h3>
      <QueryView query={pending} what="the pending gateways and devices">
        {({ items, next_cursor }) =>
          items.length === 0 ? (
            <p className="soft">All gateways and devices have applied it.</p>
          ) : (
            <ul className="objects">
              {items.slice(0, shown).map((item) => (
                <li key={item.id}>
                  <Icon name={item.type === 'gateway' ? 'gateway' : 'laptop'} size="s" />
                  <AppLink className="rowlink" to={hrefOf(item)}>
                    {item.name}
                  </AppLink>
                  <span className="soft">{item.type}</span>
                  <span className="push soft xs">
                    {item.last_seen_at === null ? (
                      'never seen'
                    ) : (
                      <>
                        seen <Timestamp at={item.last_seen_at} />
                      </>
                    )}
                  </span>
                </li>
              ))}
              {items.length > shown && (
                <li className="more">
                  and {next_cursor ? 'at least ' : ''}
                  {formatNumber(items.length - shown)} more
                </li>
              )}
            </ul>
          )
        }
      </QueryView>
    </div>
  )
}

const hrefOf = ({ type, id }: { type: 'gateway' | 'device'; id: string }): string =>
  type === 'gateway' ? `/admin/sessions?gateway_id=${id}` : `/admin/devices/${id}`
