import { useSyncExternalStore } from 'react'
import { clockNow, subscribeToClock } from '../../ui/clock.ts'
import { formatWord } from '../../ui/format.ts'
import { formatDuration } from '../../ui/format-time.ts'
import { Status } from '../../ui/status.tsx'
import { type Session, silentSeconds } from './words.ts'

/** State in soft text if active. If the gateway stopped reporting the session, shows for how long. */
export function SessionState({ session }: { session: Session }) {
  const silent = useSyncExternalStore(subscribeToClock, () => silentSeconds(session, clockNow()))
  if (session.state === 'ended')
    return (
      <span className="soft">
        Ended
        {session.end_reason &&
          `, ${formatWord(session.end_reason)
            .toLowerCase()
            .replace(/^admin$/, 'by an admin')}`}
      </span>
    )
  if (silent !== undefined) return <Status kind="warn">Metering stale {formatDuration(silent)}</Status>
  return <span className="soft">Active</span>
}
