import { useNavigate } from '@tanstack/react-router'
import { useApi } from '../../api/use-api.ts'
import { Dot, SidePanel, type Walk } from '../../table/side-panel.tsx'
import { formatCount } from '../../ui/format.ts'
import { IconButton } from '../../ui/icon-button.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Source } from '../groups/spec.tsx'
import type { Group } from '../groups/words.ts'
import { GroupActions } from './group-actions.tsx'
import { GroupTabs } from './group-tabs.tsx'

type Props = Walk & {
  /** Group from the list, shown until the newer response arrives. */
  known: Group | undefined
}

/** B13: one group beside the list. */
export function GroupPanel({ known, ...walk }: Props) {
  const query = useApi('GET /v1/admin/groups/{group_id}', { params: { group_id: walk.id } })
  const navigate = useNavigate()
  const group = query.error?.code === 'not_found' ? undefined : (query.data ?? known)
  return (
    <SidePanel
      {...walk}
      noun="group"
      name={group?.name}
      icon="people"
      tools={
        <IconButton
          icon="ext"
          label="Open as a page"
          onClick={() => void navigate({ to: `/admin/groups/${walk.id}` })}
        />
      }
      facts={group && <GroupFacts group={group} />}
      actions={group && <GroupActions group={group} size="sm" />}
      hints={[
        { keys: ['a'], does: 'add members' },
        { keys: ['e'], does: 'rename' },
      ]}
    >
      <QueryView query={{ ...query, data: group }} what="this group">
        {(shown) => <GroupTabs group={shown} inPanel />}
      </QueryView>
    </SidePanel>
  )
}

/** Line of facts about a group, for the head of panel and page. */
export const GroupFacts = ({ group }: { group: Group }) => (
  <>
    <span>{formatCount(group.member_count, 'member')}</span>
    <Dot />
    <Source group={group} />
    {group.description !== '' && (
      <>
        <Dot />
        <span className="soft trunc">{group.description}</span>
      </>
    )}
  </>
)
