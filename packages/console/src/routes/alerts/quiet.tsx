import { useApi } from '../../api/use-api.ts'
import { Timestamp } from '../../ui/timestamp.tsx'

/** Empty inbox with the newest acknowledged alert. */
export function Quiet() {
  const { data } = useApi('GET /v1/admin/notifications', { query: { state: 'all', limit: 1 } })
  const last = data?.items[0]
  return (
    <div className="blank">
      <h3>No alert is open</h3>
      {last && (
        <p>
          The newest alert was “{last.title}”, raised <Timestamp at={last.created_at} as="exact" />.
        </p>
      )}
      {data && !last && <p>No alert has been raised in this tenant.</p>}
    </div>
  )
}
