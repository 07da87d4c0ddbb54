import type { ReactNode } from 'react'
import type { InputOf, OutputOf } from '../../api/client.ts'
import { useApi } from '../../api/use-api.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { formatCount, formatNumber, formatPercent } from '../../ui/format.ts'
import { Frame } from '../../ui/frame.tsx'
import { Bullet } from '../../ui/progress.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Table, type TableColumn } from '../../ui/table.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import type { Question } from './question.ts'
import { type JudgeState, judgingOf, unknownJudging } from './use-judges.ts'

const route = 'POST /v1/admin/policy/who-reaches'
type Found = OutputOf<typeof route>
type Props = { question: Question; under: JudgeState; against: JudgeState }

function useReach({ target, at }: Question, judge: JudgeState) {
  const judging = judgingOf(judge)
  const body: InputOf<typeof route>['body'] = { target: target.trim(), ...(at.trim() !== '' && { at: at.trim() }) }
  return useApi(route, { body: { ...body, ...(judging ?? unknownJudging) } }, { enabled: judging !== undefined })
}

/** Groups, users and devices that reach a target, and the rules that let them. */
export function WhoCard({ question, under, against }: Props) {
  const first = useReach(question, under)
  const second = useReach(question, against)
  return (
    <>
      <Frame
        title={`Who reaches ${question.target}`}
        inset="stack"
        aside={
          first.data && (
            <span className="soft xs">
              as of <Timestamp at={first.data.at} as="clock" />
            </span>
          )
        }
      >
        <QueryView query={first} what="the answer">
          {(found) => (
            <>
              <Sums found={found} label={under.label} />
              {against.id !== undefined && (
                <QueryView query={second} what={`the answer under ${against.label}`}>
                  {(other) => <Sums found={other} label={against.label} than={found} />}
                </QueryView>
              )}
              {found.counts.devices === 0 && (
                <p className="soft">No device reaches it. Suspended, locked and expired devices reach nothing.</p>
              )}
            </>
          )}
        </QueryView>
      </Frame>
      {first.data && first.data.counts.devices > 0 && <Lists found={first.data} />}
    </>
  )
}

type SumsProps = { found: Found; label: string; than?: Found }

function Sums({ found: { counts, devices_examined }, label, than }: SumsProps) {
  const share = devices_examined === 0 ? 0 : counts.devices / devices_examined
  return (
    <div className="stack tight">
      <div className="row between wrap">
        <b className="strong">{label}</b>
        <span className="num soft">
          {formatNumber(counts.devices)} of {formatCount(devices_examined, 'device')},{' '}
          {formatCount(counts.users, 'user')}, {formatCount(counts.groups, 'group')}
          {than && change(counts.devices - than.counts.devices)}
        </span>
      </div>
      <Bullet share={share} label={`${label}: ${formatPercent(share)} of the devices reach it`} />
    </div>
  )
}

function change(by: number): string {
  if (by === 0) return ', as many devices'
  return by > 0 ? `, ${formatCount(by, 'device')} more` : `, ${formatCount(-by, 'device')} fewer`
}

function Lists({ found: { groups, users, devices, rules, counts } }: { found: Found }) {
  return (
    <div className="duo">
      <Part title="Groups" shown={groups.length} all={counts.groups}>
        <Table look="mini" columns={groupColumns} rows={groups} keyOf={({ group_id }) => group_id} />
      </Part>
      <Part title="Rules" shown={rules.length} all={rules.length}>
        <Table look="mini" columns={ruleColumns} rows={rules} keyOf={({ rule_id }) => rule_id} />
      </Part>
      <Part title="Users" shown={users.length} all={counts.users}>
        <Table look="mini" columns={userColumns} rows={users} keyOf={({ user_id }) => user_id} />
      </Part>
      <Part title="Devices" shown={devices.length} all={counts.devices}>
        <Table look="mini" columns={deviceColumns} rows={devices} keyOf={({ device_id }) => device_id} />
      </Part>
    </div>
  )
}

type PartProps = { title: string; shown: number; all: number; children: ReactNode }

const Part = ({ title, shown, all, children }: PartProps) => (
  <Frame
    title={title}
    inset={shown === 0 ? undefined : 'flush'}
    aside={
      <span className="soft xs">{shown < all ? `first ${shown} of ${formatNumber(all)}` : formatNumber(all)}</span>
    }
  >
    {shown === 0 ? <p className="soft">None.</p> : children}
  </Frame>
)

type Rows<K extends 'groups' | 'users' | 'devices' | 'rules'> = readonly TableColumn<Found[K][number]>[]
const rulesText = (ids: readonly string[]) => <span className="mono soft">{ids.join(', ')}</span>

const groupColumns: Rows<'groups'> = [
  { label: 'Group', isHead: true, cell: ({ name, group_id }) => name ?? group_id },
  {
    label: 'Devices',
    className: 'n',
    cell: ({ devices, devices_examined }) => `${formatNumber(devices)} of ${formatNumber(devices_examined)}`,
  },
  { label: 'By rule', cell: ({ rule_ids }) => rulesText(rule_ids) },
]
const ruleColumns: Rows<'rules'> = [
  { label: 'Rule', isHead: true, cell: ({ rule_id }) => <span className="mono">{rule_id}</span> },
  { label: 'Devices', className: 'n', cell: ({ devices }) => formatNumber(devices) },
]
const userColumns: Rows<'users'> = [
  { label: 'User', isHead: true, cell: ({ username, user_id }) => username ?? user_id },
  { label: 'Devices', className: 'n', cell: ({ devices }) => formatNumber(devices) },
  { label: 'By rule', cell: ({ rule_ids }) => rulesText(rule_ids) },
]
const deviceColumns: Rows<'devices'> = [
  {
    label: 'Device',
    isHead: true,
    cell: ({ device_id, device_name }) => (
      <AppLink className="rowlink" to={`/admin/devices/${device_id}?tab=policy`}>
        {device_name ?? device_id}
      </AppLink>
    ),
  },
  { label: 'User', cell: ({ username }) => username ?? <span className="faint">–</span> },
  { label: 'By rule', cell: ({ rule_id }) => <span className="mono soft">{rule_id}</span> },
]
