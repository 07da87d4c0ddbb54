import { type ReactNode, useId } from 'react'
import { useNavigation, useSearch } from '../../navigation.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Note } from '../../ui/note.tsx'
import { Part } from '../../ui/part.tsx'
import { TabPanel, Tabs } from '../../ui/tabs.tsx'
import { Activity } from '../device/activity.tsx'
import { DeviceList, devicesHref } from '../device/device-list.tsx'
import { MembersTab } from './members-tab.tsx'
import type { TabProps } from './tab.ts'
import { UsesTab } from './uses-tab.tsx'

const tabs = ['members', 'uses', 'devices', 'activity'] as const
type Tab = (typeof tabs)[number]
const labels: Readonly<Record<Tab, string>> = {
  members: 'Members',
  uses: 'Where used',
  devices: 'Devices',
  activity: 'Activity',
}
const mostDevices = 50

/** Facts about a group by topic. The address stores the open tab. */
export function GroupTabs({ group, inPanel = false }: { group: TabProps['group']; inPanel?: boolean }) {
  const id = useId()
  const { change } = useNavigation()
  const chosen = useSearch().tab
  const tab = tabs.find((t) => t === chosen) ?? 'members'
  const choose = (next: Tab) => change({ tab: next === 'members' ? undefined : next }, { replace: true })
  const parts = { group, inPanel }
  const content: Readonly<Record<Tab, ReactNode>> = {
    members: <MembersTab {...parts} />,
    uses: <UsesTab {...parts} />,
    devices: <DevicesTab {...parts} />,
    activity: (
      <Part title="Activity" inPanel={inPanel}>
        <Activity of={{ target_id: group.group_id }} noun="group" />
      </Part>
    ),
  }
  const counts: Partial<Record<Tab, number>> = { members: group.member_count }
  return (
    <>
      <Tabs
        label="Group"
        options={tabs.map((value) => ({ value, label: labels[value], count: counts[value] || undefined }))}
        value={tab}
        onChange={choose}
        panelId={id}
      />
      <TabPanel id={id} value={tab} className={inPanel ? 'body' : 'stack'}>
        {group.source === 'directory' && (
          <Note icon="lock" kind="info" title="A directory decides on this group.">
            Name and members are changed in the directory. Its next run would overwrite a change here.
          </Note>
        )}
        {content[tab]}
      </TabPanel>
    </>
  )
}

const DevicesTab = ({ group: { group_id }, inPanel }: TabProps) => (
  <Part
    title="Devices"
    inPanel={inPanel}
    aside={
      <AppLink className="xs" to={devicesHref({ group_id })}>
        Open list
      </AppLink>
    }
  >
    <DeviceList
      of={{ group_id }}
      noun="group"
      limit={mostDevices}
      empty="No device. All devices of a member are in the group, and those that enroll with a token of the group."
    />
  </Part>
)
