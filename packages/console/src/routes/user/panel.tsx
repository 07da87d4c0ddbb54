import { useNavigate } from '@tanstack/react-router'
import { useApi } from '../../api/use-api.ts'
import { Dot, SidePanel, type Walk } from '../../table/side-panel.tsx'
import { IconButton } from '../../ui/icon-button.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Avatar } from '../users/avatar.tsx'
import { UserStatus } from '../users/user-status.tsx'
import { nameOf, sourceWords, type User } from '../users/words.ts'
import { UserActions } from './user-actions.tsx'
import { UserTabs } from './user-tabs.tsx'

type Props = Walk & {
  /** User from the list, shown until the newer response arrives. */
  known: User | undefined
}

/** B12: one user beside the list. */
export function UserPanel({ known, ...walk }: Props) {
  const query = useApi('GET /v1/admin/users/{user_id}', { params: { user_id: walk.id } })
  const navigate = useNavigate()
  const user = query.error?.code === 'not_found' ? undefined : (query.data ?? known)
  return (
    <SidePanel
      {...walk}
      noun="user"
      name={user && nameOf(user)}
      icon="user"
      picture={user && <Avatar user={user} />}
      tools={
        <IconButton
          icon="ext"
          label="Open as a page"
          onClick={() => void navigate({ to: `/admin/users/${walk.id}` })}
        />
      }
      facts={user && <UserFacts user={user} />}
      actions={user && <UserActions user={user} size="sm" />}
      hints={[
        { keys: ['u'], does: 'unlock' },
        { keys: ['p'], does: 'password' },
      ]}
    >
      <QueryView query={{ ...query, data: user }} what="this user">
        {(shown) => <UserTabs user={shown} inPanel />}
      </QueryView>
    </SidePanel>
  )
}

/** Line of facts about a user, for the head of panel and page. */
export const UserFacts = ({ user }: { user: User }) => (
  <>
    <UserStatus user={user} />
    {nameOf(user) !== user.username && (
      <>
        <Dot />
        <span>{user.username}</span>
      </>
    )}
    <Dot />
    <span className="soft">{user.kind === 'service' ? 'Service account' : sourceWords[user.source]}</span>
  </>
)
