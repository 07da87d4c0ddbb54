import { useApi } from '../../api/use-api.ts'
import type { Document } from '../../policy/difference.ts'
import { GrantSums } from '../../policy/grant-sums.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { formatCount, formatNumber } from '../../ui/format.ts'
import { Bullet } from '../../ui/progress.tsx'
import { Card } from '../home/card.tsx'

const route = 'POST /v1/admin/policy/simulate'
/** Groups shown of each side. */
const shown = 6

/** Devices, users and groups that gain or lose access if the draft is published to everybody. */
export function ImpactCard({ document, draftId }: { document: Document; draftId: string }) {
  const query = useApi(route, { body: { policy: document } })
  return (
    <Card
      title="Who it concerns"
      what="the impact of the draft"
      query={query}
      footer={<ButtonLink to={`/admin/policy/what-if?against=draft:${draftId}`}>Ask what-if</ButtonLink>}
    >
      {({ impact }) => (
        <div className="stack">
          <GrantSums impact={impact} />
          {impact.devices_affected === 0 && <p className="soft">No device gains or loses access.</p>}
          <Side side={impact.loses} verb="lose access" fill="bxbad" />
          <Side side={impact.gains} verb="gain access" fill="bxok" />
        </div>
      )}
    </Card>
  )
}

type Party = {
  devices: number
  users: number
  groups: number
  first_groups: readonly {
    group_id: string
    name: string | null
    devices: number
    devices_examined: number
    users: number
  }[]
  first_users: readonly { user_id: string; username: string | null }[]
}

function Side({ side, verb, fill }: { side: Party; verb: string; fill: 'bxbad' | 'bxok' }) {
  if (side.devices === 0) return null
  const users = side.first_users.slice(0, shown).map(({ username, user_id }) => username ?? user_id)
  return (
    <div className="gbars">
      <p>
        <b className="strong">
          {formatCount(side.devices, 'device')} of {formatCount(side.users, 'user')}
        </b>{' '}
        {verb}
        {users.length > 0 && (
          <span className="soft">
            : {users.join(', ')}
            {side.users > users.length && ` and ${formatNumber(side.users - users.length)} more`}
          </span>
        )}
      </p>
      {side.first_groups.slice(0, shown).map(({ group_id, name, devices, devices_examined, users: members }) => (
        <div key={group_id}>
          <div className="row between">
            <span>{name ?? group_id}</span>
            <span className="num soft xs">
              {formatNumber(devices)} of {formatCount(devices_examined, 'device')}, {formatCount(members, 'user')}
            </span>
          </div>
          <Bullet
            share={devices_examined === 0 ? 0 : devices / devices_examined}
            fill={fill}
            label={`${name ?? group_id}: ${formatNumber(devices)} of ${formatCount(devices_examined, 'device')} ${verb}`}
          />
        </div>
      ))}
      {side.groups > shown && <p className="soft xs">and {formatNumber(side.groups - shown)} more groups</p>}
    </div>
  )
}
