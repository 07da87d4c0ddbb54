import { useApi } from '../../api/use-api.ts'
import { Timestamp } from '../../ui/timestamp.tsx'

/** What stands in the inbox while nothing is open: since when. */
export function Quiet() {
  const { data } = useApi('GET /v1/admin/notifications', { query: { state: 'all', limit: 1 } })
  const [last] = data?.items ?? []
  return (
    <div className="blank">
      <h3>
        {last ? (
          <>
            All quiet since <Timestamp at={last.acknowledged_at ?? last.created_at} as="exact" />
          </>
        ) : (
          'All quiet'
        )}
      </h3>
      <p>{last ? `The last alert was “${last.title}”.` : 'No alert has been raised in this tenant.'}</p>
    </div>
  )
}
