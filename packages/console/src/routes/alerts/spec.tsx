import { type Alert, detailOf, severityMarks } from '../../shell/open-alerts.ts'
import type { ListSpec } from '../../table/spec.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { kindWords, severityWords, subjectName, subjectPath } from './words.ts'

/** Columns, filters and words of the list of alerts. */
export const alertsSpec: ListSpec<Alert> = {
  list: 'notifications',
  kind: 'notifications',
  noun: { one: 'alert', many: 'alerts' },
  icon: 'bell',
  allLabel: 'Open',
  defaultSort: '-created_at',
  orderName: 'Newest first',
  command: 'holdfast notification list',
  idOf: (alert) => alert.notification_id,
  nameOf: (alert) => alert.title,
  isGone: (alert) => alert.state === 'acknowledged',
  summaryOf: (alert) => (
    <>
      {kindWords[alert.kind].label} · <Timestamp at={alert.created_at} />
    </>
  ),
  columns: [
    { id: 'title', label: 'Alert', cell: (alert) => alert.title },
    {
      id: 'severity',
      label: 'Severity',
      cell: ({ severity }) => <Status kind={severityMarks[severity]}>{severityWords[severity]}</Status>,
    },
    {
      id: 'kind',
      label: 'Kind',
      priority: 4,
      cell: ({ kind }) => <span className="soft trunc">{kindWords[kind].label}</span>,
    },
    { id: 'subject', label: 'About', priority: 2, cell: (alert) => <About alert={alert} /> },
    {
      id: 'state',
      label: 'State',
      priority: 3,
      cell: (alert) =>
        alert.state === 'open' ? <span className="soft">Open</span> : <span className="faint">Acknowledged</span>,
    },
    {
      id: 'detail',
      label: 'Detail',
      isOptional: true,
      cell: (alert) => <span className="soft trunc">{detailOf(alert)}</span>,
    },
    {
      id: 'created',
      label: 'Raised',
      priority: 2,
      isNumber: true,
      sort: 'created_at',
      cell: (alert) => <Timestamp at={alert.created_at} className="soft" />,
    },
  ],
  filters: [
    {
      name: 'state',
      label: 'State',
      options: [
        { value: 'open', label: 'Open' },
        { value: 'acknowledged', label: 'Acknowledged' },
        { value: 'all', label: 'All' },
      ],
    },
    {
      name: 'severity',
      label: 'Severity',
      options: (['critical', 'warning', 'info'] as const).map((value) => ({ value, label: severityWords[value] })),
    },
    {
      name: 'kind',
      label: 'Kind',
      options: (Object.keys(kindWords) as Alert['kind'][]).map((value) => ({ value, label: kindWords[value].label })),
    },
  ],
  presets: [
    { label: 'Critical', filters: { severity: 'critical' } },
    { label: 'Acknowledged', filters: { state: 'acknowledged' } },
    { label: 'All', filters: { state: 'all' } },
  ],
}

/** Subject of the alert, as a link if the console has a page for it. */
export function About({ alert }: { alert: Alert }) {
  const path = subjectPath(alert)
  const name = subjectName(alert)
  return path === undefined ? <span className="soft trunc">{name}</span> : <AppLink to={path}>{name}</AppLink>
}
