import '../device/device.css'
import { useParams } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useApi } from '../../api/use-api.ts'
import { Badge } from '../../ui/badge.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { Problem } from '../../ui/problem.tsx'
import { SkeletonLines } from '../../ui/skeleton.tsx'
import { nameOf } from '../users/words.ts'
import { UserFacts } from './panel.tsx'
import { UserActions } from './user-actions.tsx'
import { useUserKeys } from './user-keys.ts'
import { UserTabs } from './user-tabs.tsx'

const crumbs = [{ to: '/admin/users', label: 'Users' }]

/** B12: page of one user. */
export function Page() {
  const { user_id = '' } = useParams({ strict: false }) as { user_id?: string }
  const query = useApi('GET /v1/admin/users/{user_id}', { params: { user_id } })
  // A deleted user is not shown, unlike other failures of a refetch.
  const user = query.error?.code === 'not_found' ? undefined : query.data
  useUserKeys(user)
  useEffect(() => {
    if (user) document.title = `${nameOf(user)} · Users · Holdfast`
  }, [user])
  if (!user)
    return (
      <div className="page">
        <PageHead title="User" crumbs={crumbs} />
        {query.error ? (
          <Problem
            error={query.error}
            retry={query.refetch}
            what="this user"
            elsewhere={<ButtonLink to="/admin/users">All users</ButtonLink>}
          />
        ) : (
          <SkeletonLines />
        )}
      </div>
    )
  return (
    <div className="page">
      <PageHead
        title={nameOf(user)}
        badge={user.break_glass && <Badge kind="warn">break glass</Badge>}
        crumbs={crumbs}
        sub={
          <span className="row">
            <UserFacts user={user} />
          </span>
        }
        actions={<UserActions user={user} />}
      />
      {query.error && <Problem error={query.error} retry={query.refetch} what="this user" asOf={query.dataUpdatedAt} />}
      <UserTabs user={user} />
    </div>
  )
}
