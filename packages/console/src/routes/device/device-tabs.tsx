import { type ReactNode, useId } from 'react'
import { useNavigation, useSearch } from '../../navigation.ts'
import { Note } from '../../ui/note.tsx'
import { TabPanel, Tabs } from '../../ui/tabs.tsx'
import type { Device } from '../devices/words.ts'
import { Activity } from './activity.tsx'
import { CertificatesTab } from './certificates-tab.tsx'
import { ExplainAccess } from './explain-access.tsx'
import { SessionsTab } from './sessions-tab.tsx'
import { SummaryTab } from './summary-tab.tsx'

const tabs = ['summary', 'sessions', 'policy', 'certificates', 'activity'] as const
type Tab = (typeof tabs)[number]
const labels: Readonly<Record<Tab, string>> = {
  summary: 'Summary',
  sessions: 'Sessions',
  policy: 'Policy',
  certificates: 'Certificates',
  activity: 'Activity',
}

/** Facts about a device by topic. The address stores the open tab. */
export function DeviceTabs({ device, inPanel = false }: { device: Device; inPanel?: boolean }) {
  const id = useId()
  const { change } = useNavigation()
  const chosen = useSearch().tab
  const tab = tabs.find((t) => t === chosen) ?? 'summary'
  const choose = (next: Tab) => change({ tab: next === 'summary' ? undefined : next }, { replace: true })
  const content: Readonly<Record<Tab, ReactNode>> = {
    summary: <SummaryTab device={device} inPanel={inPanel} onTab={choose} />,
    sessions: <SessionsTab device={device} />,
    policy: (
      <ExplainAccess key={device.device_id} of={{ device_id: device.device_id }} name={device.name} inPanel={inPanel} />
    ),
    certificates: <CertificatesTab device={device} />,
    activity: <Activity of={{ target_id: device.device_id }} noun="device" />,
  }
  return (
    <>
      <Tabs
        label="Device"
        options={tabs.map((value) => ({ value, label: labels[value] }))}
        value={tab}
        onChange={choose}
        panelId={id}
      />
      <TabPanel id={id} value={tab} className={inPanel ? 'body' : 'stack'}>
        <WhyNotActive device={device} />
        {content[tab]}
      </TabPanel>
    </>
  )
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`

function WhyNotActive({ device }: { device: Device }) {
  if (device.effective_status_reason === null) return null
  const kind = device.effective_status === 'pending' ? 'info' : 'warn'
  return (
    <Note kind={kind} title="This device gets no access.">
      <p>{sentence(device.effective_status_reason)}</p>
    </Note>
  )
}
