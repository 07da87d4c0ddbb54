import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ApiError } from '../../api/api-error.ts'
import { useCan } from '../../api/me.ts'
import { selectedTenant } from '../../api/selected-tenant.ts'
import { useApi } from '../../api/use-api.ts'
import { GrantSums } from '../../policy/grant-sums.tsx'
import { AppLink } from '../../ui/app-link.tsx'
import { Button } from '../../ui/button.tsx'
import { formatCount } from '../../ui/format.ts'
import { Frame } from '../../ui/frame.tsx'
import { Icon } from '../../ui/icon.tsx'
import { NoPermission } from '../../ui/problem.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Status } from '../../ui/status.tsx'
import { type Decided, type Sampled, type SampleRow, sampleLimits, sampleOf } from './sample.ts'
import { SampleSheet } from './sample-sheet.tsx'
import type { JudgeState } from './use-judges.ts'

const firstDevices = 6
const firstTargets = 3

type Props = {
  /** The policy whose publication is simulated. */
  judge: JudgeState
  names: readonly string[]
  target: string
}

/** Decisions for some devices and targets now and under another policy, and the sums over all devices. */
export function SampleCard({ judge, names, target }: Props) {
  const can = useCan()
  const [chosen, setChosen] = useState<{ devices: readonly Sampled[]; targets: readonly string[] }>()
  const [isOpen, setOpen] = useState(false)
  const newest = useApi(
    'GET /v1/admin/devices',
    { query: { effective_status: 'active', sort: '-last_seen_at', limit: firstDevices } },
    { enabled: can('devices:read') },
  )
  const devices =
    chosen?.devices ??
    newest.data?.items.map(({ device_id, name, user_name }) => ({ id: device_id, name, user: user_name })) ??
    []
  const known = names.includes(target) ? [target] : []
  const targets = chosen?.targets ?? [...new Set([...known, ...names])].slice(0, firstTargets)
  const query = useQuery<Awaited<ReturnType<typeof sampleOf>>, ApiError>({
    queryKey: ['sample', judge.id, devices.map(({ id }) => id), targets, selectedTenant()],
    queryFn: ({ signal }) => sampleOf(judge.document ?? {}, devices, targets, signal),
    enabled: judge.document !== undefined && devices.length > 0 && targets.length > 0,
    staleTime: 60_000,
  })
  if (!can('devices:read'))
    return (
      <Frame title="Sample">
        <NoPermission what="devices" permission="devices:read" />
      </Frame>
    )
  const isEmpty = (newest.data?.items.length === 0 && !chosen) || (judge.document !== undefined && targets.length === 0)
  return (
    <>
      <Frame
        title={`Sample: ${formatCount(devices.length, 'device')}, ${formatCount(targets.length, 'target')}`}
        inset="none"
        aside={
          <Button kind="ghost" size="sm" onClick={() => setOpen(true)}>
            Change
          </Button>
        }
      >
        {isEmpty ? (
          <p className="soft in">A sample needs a device, and a resource or host in the policy.</p>
        ) : (
          <div className={query.data ? 'in flush' : 'in'}>
            <QueryView query={query} what="the sample">
              {({ rows }) => <Matrix rows={rows} targets={targets} />}
            </QueryView>
          </div>
        )}
      </Frame>
      {query.data && <Impact impact={query.data.impact} label={judge.label} />}
      {isOpen && (
        <SampleSheet
          devices={devices}
          targets={targets}
          names={names}
          limits={sampleLimits}
          onChange={(next) => {
            setChosen(next)
            setOpen(false)
          }}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  )
}

function Matrix({ rows, targets }: { rows: readonly SampleRow[]; targets: readonly string[] }) {
  return (
    <div className="matrix">
      <table className="t inset">
        <thead>
          <tr>
            <th scope="col">Device</th>
            {targets.map((target) => (
              <th key={target} scope="col">
                {target}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ device, cells }) => (
            <tr key={device.id}>
              <td>
                <AppLink className="rowlink blk" to={`/admin/devices/${device.id}?tab=policy`}>
                  {device.name}
                </AppLink>
                <small className="soft xs">{device.user ?? 'no user'}</small>
              </td>
              {cells.map((cell, i) => (
                <td key={targets[i]} className={cell.before.decision === cell.after.decision ? undefined : 'chg-c'}>
                  <Cell {...cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Cell({ before, after }: { before: Decided; after: Decided }) {
  const isAllowed = after.decision === 'allow'
  const kind = isAllowed ? 'ok' : 'bad'
  if (before.decision === after.decision)
    return (
      <span title={after.reason}>
        <Status kind={kind}>{isAllowed ? 'Allowed' : 'Denied'}</Status>
      </span>
    )
  return (
    <span className="row tight nowrap" title={after.reason}>
      <span className={`d ${isAllowed ? 'bad' : 'ok'}`} />
      <Icon name="arrow" size="s" />
      <Status kind={kind}>{isAllowed ? 'gains' : 'loses'}</Status>
    </span>
  )
}

type ImpactProps = { impact: Awaited<ReturnType<typeof sampleOf>>['impact']; label: string }

/** Sums over all devices. */
function Impact({ impact, label }: ImpactProps) {
  const { gains, loses } = impact
  const names = (side: typeof gains) => side.first_groups.slice(0, 5).map(({ name, group_id }) => name ?? group_id)
  return (
    <Frame title={`All devices, from now to ${label.charAt(0).toLowerCase()}${label.slice(1)}`} inset="stack">
      <GrantSums impact={impact} />
      {gains.devices > 0 && (
        <p>
          {formatCount(gains.devices, 'device')} of {formatCount(gains.users, 'user')} gain access
          {gains.first_groups.length > 0 && <span className="soft">: {names(gains).join(', ')}</span>}.
        </p>
      )}
      {loses.devices > 0 && (
        <p>
          {formatCount(loses.devices, 'device')} of {formatCount(loses.users, 'user')} lose access
          {loses.first_groups.length > 0 && <span className="soft">: {names(loses).join(', ')}</span>}.
        </p>
      )}
    </Frame>
  )
}
