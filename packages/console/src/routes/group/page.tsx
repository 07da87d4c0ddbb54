import '../device/device.css'
import { useParams } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useApi } from '../../api/use-api.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { Problem } from '../../ui/problem.tsx'
import { SkeletonLines } from '../../ui/skeleton.tsx'
import { GroupActions } from './group-actions.tsx'
import { useGroupKeys } from './group-keys.ts'
import { GroupTabs } from './group-tabs.tsx'
import { GroupFacts } from './panel.tsx'

const crumbs = [{ to: '/admin/groups', label: 'Groups' }]

/** B13: page of one group. */
export function Page() {
  const { group_id = '' } = useParams({ strict: false }) as { group_id?: string }
  const query = useApi('GET /v1/admin/groups/{group_id}', { params: { group_id } })
  // A deleted group is not shown, unlike other failures of a refetch.
  const group = query.error?.code === 'not_found' ? undefined : query.data
  useGroupKeys(group)
  useEffect(() => {
    if (group) document.title = `${group.name} · Groups · Holdfast`
  }, [group])
  if (!group)
    return (
      <div className="page">
        <PageHead title="Group" crumbs={crumbs} />
        {query.error ? (
          <Problem
            error={query.error}
            retry={query.refetch}
            what="this group"
            elsewhere={<ButtonLink to="/admin/groups">All groups</ButtonLink>}
          />
        ) : (
          <SkeletonLines />
        )}
      </div>
    )
  return (
    <div className="page">
      <PageHead
        title={group.name}
        crumbs={crumbs}
        sub={
          <span className="row">
            <GroupFacts group={group} />
          </span>
        }
        actions={<GroupActions group={group} />}
      />
      {query.error && (
        <Problem error={query.error} retry={query.refetch} what="this group" asOf={query.dataUpdatedAt} />
      )}
      <GroupTabs group={group} />
    </div>
  )
}
