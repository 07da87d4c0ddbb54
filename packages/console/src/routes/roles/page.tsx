import './roles.css'
import { type ReactNode, useId } from 'react'
import { useCan, useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { useNavigation, useSearch } from '../../navigation.ts'
import { openOverlay } from '../../shell/overlay.ts'
import { Button } from '../../ui/button.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { NoPermission } from '../../ui/problem.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { TabPanel, Tabs } from '../../ui/tabs.tsx'
import { GrantsTab } from './grants-tab.tsx'
import { MatrixTab } from './matrix-tab.tsx'
import { PersonTab } from './person-tab.tsx'
import { WhoTab } from './who-tab.tsx'

const tabs = ['matrix', 'grants', 'who', 'person'] as const
type Tab = (typeof tabs)[number]
const labels: Readonly<Record<Tab, string>> = {
  matrix: 'Roles',
  grants: 'Grants',
  who: 'Who can do it',
  person: 'What a person can do',
}

/** B14: roles with their permissions, and the people that have them. */
export function Page() {
  const can = useCan()
  const isOff = !can('rbac:read')
  return (
    <div className="page">
      <PageHead
        title="Roles"
        sub="Devices of a person need no role. A role is for work in this console and with the API."
        actions={!isOff && <GrantButton />}
      />
      {isOff ? <NoPermission what="roles" permission="rbac:read" /> : <RoleTabs />}
    </div>
  )
}

const GrantButton = () => (
  <Button
    kind="primary"
    icon="plus"
    offReason={useOffReason()('rbac:write')}
    onClick={() => openOverlay({ kind: 'user', act: 'grant_role' })}
  >
    Grant role
  </Button>
)

function RoleTabs() {
  const id = useId()
  const { change } = useNavigation()
  const chosen = useSearch().tab
  const tab = tabs.find((t) => t === chosen) ?? 'matrix'
  const roles = useApi('GET /v1/admin/rbac/roles', {})
  const content: Readonly<Record<Tab, ReactNode>> = {
    matrix: (
      <QueryView query={roles} what="the roles">
        {({ items }) => <MatrixTab roles={items} />}
      </QueryView>
    ),
    grants: <GrantsTab />,
    who: (
      <QueryView query={roles} what="the roles">
        {({ items }) => <WhoTab roles={items} />}
      </QueryView>
    ),
    person: (
      <QueryView query={roles} what="the roles">
        {({ items }) => <PersonTab roles={items} />}
      </QueryView>
    ),
  }
  return (
    <>
      <Tabs
        label="Roles"
        options={tabs.map((value) => ({ value, label: labels[value] }))}
        value={tab}
        onChange={(next) => change({ tab: next === 'matrix' ? undefined : next, cursor: undefined }, { replace: true })}
        panelId={id}
      />
      <TabPanel id={id} value={tab} className="stack">
        {content[tab]}
      </TabPanel>
    </>
  )
}
