import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { useLostAt } from '../api/connection.ts'
import { Icon } from '../ui/icon.tsx'
import { Timestamp } from '../ui/timestamp.tsx'

/** Bar above every view while the server does not answer. Once it answers again, all data is read again. */
export function Connection() {
  const lostAt = useLostAt()
  const queries = useQueryClient()
  const wasLost = useRef(false)
  useEffect(() => {
    if (wasLost.current && lostAt === undefined) void queries.invalidateQueries()
    wasLost.current = lostAt !== undefined
  }, [lostAt, queries])
  if (lostAt === undefined) return null
  return (
    <div className="strip warn" role="status">
      <Icon name="offline" />
      <span className="grow">
        The server does not answer. This page shows the state of <Timestamp at={new Date(lostAt).toISOString()} />. You
        cannot change anything until it answers.
      </span>
    </div>
  )
}
