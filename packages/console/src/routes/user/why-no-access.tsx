import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { Note } from '../../ui/note.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { isLocked, nameOf, type User } from '../users/words.ts'

/** Most locks that are read. The API finds no lock by its target. */
const mostLocks = 200

/** Reasons why the user has no access or cannot sign in: a suspension, failed sign-ins, a lock of the incident tools. */
export const WhyNoAccess = ({ user }: { user: User }) => (
  <>
    {user.status === 'suspended' && <Suspended user={user} />}
    {isLocked(user) && (
      <Note kind="warn" icon="lock" title={`${nameOf(user)} is locked after failed sign-ins.`}>
        <p>
          The lock ends by itself at <Timestamp at={user.locked_until} as="exact" />. The devices keep their access.
        </p>
      </Note>
    )}
    <IncidentLock user={user} />
  </>
)

/** The API has no time of the suspension: the audit log has it. */
function Suspended({ user }: { user: User }) {
  const enabled = useCan()('audit:read')
  const query = { target_id: user.user_id, operation: 'suspend', outcome: 'success', limit: 1 } as const
  const event = useApi('GET /v1/audit/events', { query }, { enabled }).data?.items[0]
  return (
    <Note kind="warn" title={`${nameOf(user)} is suspended.`}>
      <p>
        {event ? (
          <>
            All sessions ended at <Timestamp at={event.timestamp} as="exact" />
            {event.actor.name && `, by ${event.actor.name}`}.
          </>
        ) : (
          'All sessions have ended.'
        )}{' '}
        The user cannot sign in, and the devices have no access until a reactivation.
      </p>
    </Note>
  )
}

function IncidentLock({ user }: { user: User }) {
  const enabled = useCan()('incidents:read')
  const query = { status: 'active', target_type: 'user', limit: mostLocks } as const
  const { data } = useApi('GET /v1/admin/locks', { query }, { enabled })
  const lock = data?.items.find(({ target }) => target.id === user.user_id)
  if (!lock) return null
  return (
    <Note kind="bad" icon="lock" title={`${nameOf(user)} is locked by ${lock.created_by.name ?? 'an incident run'}.`}>
      <p>
        Reason: {lock.reason}. The user and the devices have no access until somebody releases the lock:{' '}
        <code>holdfast lock release {lock.lock_id}</code>
      </p>
    </Note>
  )
}
