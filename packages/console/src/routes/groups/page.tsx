import '../device/device.css'
import { useMemo } from 'react'
import { useOffReason } from '../../api/me.ts'
import { openOverlay } from '../../shell/overlay.ts'
import { useListPage, useListState } from '../../table/list-state.ts'
import { ListView } from '../../table/list-view.tsx'
import { Button } from '../../ui/button.tsx'
import { FirstRun } from '../../ui/empty-state.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { groupMenu } from '../group/group-actions.tsx'
import { groupKeys } from '../group/group-keys.ts'
import { useGroupOff } from '../group/group-off.ts'
import { GroupPanel } from '../group/lazy-panel.tsx'
import { groupsSpec, usesColumn } from './spec.tsx'
import { usePolicyUses } from './use-policy-uses.ts'
import type { Group } from './words.ts'

const filterNames = ['q']

/** B13: all groups of the tenant, with a panel beside the list. */
export function Page() {
  const state = useListState(filterNames, groupsSpec.defaultSort)
  const query = useListPage('GET /v1/admin/groups', state)
  const groups = query.data?.items
  const { mayRead, of: usesOf, error } = usePolicyUses()
  const hasFailed = error !== null
  const off = useGroupOff()
  const spec = useMemo(() => {
    const { columns } = groupsSpec
    const shown = mayRead ? [...columns.slice(0, 3), usesColumn(usesOf, hasFailed), ...columns.slice(3)] : columns
    return { ...groupsSpec, columns: shown, menuOf: (group: Group) => groupMenu(group, off) }
  }, [mayRead, usesOf, hasFailed, off])
  const keys = useMemo(() => groupKeys((id) => groups?.find((group) => group.group_id === id), off), [groups, off])
  const isEmpty = groups?.length === 0 && state.q === ''
  return (
    <ListView
      spec={spec}
      state={state}
      query={query}
      verbs={keys}
      hrefOf={(id) => `/admin/groups/${id}`}
      head={
        <PageHead
          title="Groups"
          sub="Policy rules can name groups. All devices of a member are in the group."
          actions={!isEmpty && <CreateGroupButton />}
        />
      }
      firstRun={
        <FirstRun
          title="No groups yet"
          sentence="Create a group by hand, or connect a directory. Policy rules can then name it."
          action={<CreateGroupButton label="Create the first group" />}
          command="holdfast group create engineering --member anna"
        />
      }
      panel={(walk) => <GroupPanel {...walk} known={groups?.find((group) => group.group_id === walk.id)} />}
    />
  )
}

const CreateGroupButton = ({ label = 'Create group' }: { label?: string }) => (
  <Button
    kind="primary"
    icon="plus"
    offReason={useOffReason()('groups:write')}
    onClick={() => openOverlay({ kind: 'group', act: 'create' })}
  >
    {label}
  </Button>
)
