import './user.css'
import { type ReactNode, useId } from 'react'
import { useNavigation, useSearch } from '../../navigation.ts'
import { TabPanel, Tabs } from '../../ui/tabs.tsx'
import type { User } from '../users/words.ts'
import { AccessTab } from './access-tab.tsx'
import { ActivityTab } from './activity-tab.tsx'
import { DevicesTab } from './devices-tab.tsx'
import { GroupsTab } from './groups-tab.tsx'
import { ProfileTab } from './profile-tab.tsx'
import { RolesTab } from './roles-tab.tsx'
import { SessionsTab } from './sessions-tab.tsx'
import { SignInTab } from './sign-in-tab.tsx'
import { WhyNoAccess } from './why-no-access.tsx'

const tabs = ['profile', 'devices', 'sessions', 'groups', 'roles', 'sign-in', 'access', 'activity'] as const
type Tab = (typeof tabs)[number]
const labels: Readonly<Record<Tab, string>> = {
  profile: 'Profile',
  devices: 'Devices',
  sessions: 'Sessions',
  groups: 'Groups',
  roles: 'Roles',
  'sign-in': 'Sign-in',
  access: 'Access',
  activity: 'Activity',
}

/** Facts about a user by topic. The address stores the open tab. */
export function UserTabs({ user, inPanel = false }: { user: User; inPanel?: boolean }) {
  const id = useId()
  const { change } = useNavigation()
  const chosen = useSearch().tab
  const tab = tabs.find((t) => t === chosen) ?? 'profile'
  const choose = (next: Tab) => change({ tab: next === 'profile' ? undefined : next }, { replace: true })
  const counts: Partial<Record<Tab, number>> = {
    devices: user.device_count,
    groups: user.group_ids.length,
    roles: user.roles.length,
  }
  const parts = { user, inPanel }
  const content: Readonly<Record<Tab, ReactNode>> = {
    profile: <ProfileTab {...parts} onTab={choose} />,
    devices: <DevicesTab {...parts} />,
    sessions: <SessionsTab {...parts} />,
    groups: <GroupsTab {...parts} />,
    roles: <RolesTab {...parts} />,
    'sign-in': <SignInTab {...parts} />,
    access: <AccessTab key={user.user_id} {...parts} />,
    activity: <ActivityTab {...parts} />,
  }
  return (
    <>
      <Tabs
        label="User"
        options={tabs.map((value) => ({ value, label: labels[value], count: counts[value] || undefined }))}
        value={tab}
        onChange={choose}
        panelId={id}
      />
      <TabPanel id={id} value={tab} className={inPanel ? 'body' : 'stack'}>
        <WhyNoAccess user={user} />
        {content[tab]}
      </TabPanel>
    </>
  )
}
