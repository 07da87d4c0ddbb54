import { useState } from 'react'
import { call, type OutputOf } from '../../api/client.ts'
import { expectOwnChange, useLatestRun } from '../../api/live.ts'
import { useCan } from '../../api/me.ts'
import { queryClient } from '../../api/query-client.ts'
import { withStepUp } from '../../api/step-up.ts'
import { useApi } from '../../api/use-api.ts'
import { Button } from '../../ui/button.tsx'
import { RadioGroup } from '../../ui/choices.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { TextField } from '../../ui/fields.tsx'
import { NoPermission, Problem } from '../../ui/problem.tsx'
import { Sheet } from '../../ui/sheet.tsx'
import { LostDeviceRun } from './lost-device-run.tsx'

type Props = { device: { device_id: string; name: string }; onClose: () => void }
type Run = OutputOf<'POST /v1/admin/incident/playbook'>['run']
type Way = 'revoke' | 'lock'

const ways = [
  { value: 'revoke', label: 'Revoke it for good', help: 'It never comes back. Its owner enrolls it again.' },
  { value: 'lock', label: 'Lock it until it is found', help: 'It gets no access until somebody takes the lock away.' },
] as const

/** Journey J3: one sheet from the report of a lost device to the confirmation of all gateways. `Enter` does it. */
export function LostDevice({ device, onClose }: Props) {
  const can = useCan()
  const [way, setWay] = useState<Way>('revoke')
  const [reason, setReason] = useState('')
  const [startedAt, setStartedAt] = useState<number>()
  const [result, setResult] = useState<Run>()
  const [error, setError] = useState<Error>()
  const followed = useRunOf(device.device_id, startedAt, result)
  const start = async () => {
    setError(undefined)
    setStartedAt(Date.now())
    expectOwnChange('devices')
    expectOwnChange('sessions')
    const params = { device_id: device.device_id, revoke: way === 'revoke' }
    const body = { workflow: 'lost_device', params, ...(reason.trim() && { reason: reason.trim() }) }
    try {
      const answer = await withStepUp(() => call('POST /v1/admin/incident/playbook', { body }))
      setResult(answer.run)
      await queryClient.invalidateQueries({
        predicate: ({ queryKey: [route] }) => /\/v1\/admin\/(devices|sessions|dashboard)/.test(String(route)),
      })
    } catch (e) {
      setError(e as Error)
      setStartedAt(undefined)
    }
  }
  if (!can('incidents:run'))
    return (
      <Sheet title={`Lost device: ${device.name}`} onClose={onClose}>
        <NoPermission what="playbooks" permission="incidents:run" />
      </Sheet>
    )
  if (startedAt !== undefined)
    return <LostDeviceRun {...{ device, startedAt, onClose }} run={followed ?? result} isForGood={way === 'revoke'} />
  const command = `holdfast incident run lost_device device_id=${device.device_id}${way === 'lock' ? ' revoke=false' : ''}`
  const deed = way === 'revoke' ? `Revoke ${device.name}` : `Lock ${device.name}`
  return (
    <Sheet
      title={`Lost device: ${device.name}`}
      onClose={onClose}
      footer={
        <>
          <CopyButton kind="ghost" text={command} label="Copy as command" />
          <span className="grow" />
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="danger-solid" onClick={start}>
            {deed}
          </Button>
        </>
      }
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void start()
        }}
      >
        <TextField
          label="Reason"
          help="Goes into the audit log. Enter does it."
          placeholder="Left on a train"
          value={reason}
          onChange={setReason}
          maxLength={500}
          optional
        />
        <RadioGroup label="What is to happen" options={ways} value={way} onChange={setWay} />
        <Preview deviceId={device.device_id} isForGood={way === 'revoke'} />
        {error && <Problem error={error} retry={start} what="this playbook" />}
      </form>
    </Sheet>
  )
}

/** What the playbook would do, as the server says it. */
function Preview({ deviceId, isForGood }: { deviceId: string; isForGood: boolean }) {
  const can = useCan()
  const device = useApi('GET /v1/admin/devices/{device_id}', { params: { device_id: deviceId } }).data
  const certificates = useApi(
    'GET /v1/admin/spc',
    { query: { device_id: deviceId, status: 'active', limit: 50 } },
    { enabled: can('spc:read') },
  ).data?.items.length
  const ends = [
    device?.session ? `its session on ${device.session.gateway_name ?? 'its gateway'}` : undefined,
    isForGood && certificates ? `${certificates} ${certificates === 1 ? 'certificate' : 'certificates'}` : undefined,
    isForGood ? 'its credential' : undefined,
  ].filter(Boolean)
  return (
    <ul className="effects">
      <li>
        <span className="d bad" />
        <span>
          {isForGood ? 'Revokes' : 'Locks'} {device?.name ?? 'the device'}
          {device?.user_name && ` of ${device.user_name}`}
          {ends.length > 0 && `, and ends ${ends.join(', ')}`}
        </span>
      </li>
      <li>
        <span className="d half" />
        <span>Then waits until every gateway that answers keeps it out, and shows each.</span>
      </li>
    </ul>
  )
}

/** The run while it is under way: the stream names it before the request that began it is answered. */
function useRunOf(deviceId: string, startedAt: number | undefined, result: Run | undefined) {
  const latest = useLatestRun()
  const isNew = latest !== undefined && startedAt !== undefined && latest.at >= startedAt
  const id = result?.workflow_run_id ?? (isNew ? latest.id : undefined)
  const isOver = result !== undefined && result.finished_at !== null
  const { data } = useApi(
    'GET /v1/admin/workflows/runs/{workflow_run_id}',
    { params: { workflow_run_id: id ?? '' } },
    { enabled: id !== undefined && !isOver, everyMs: 250 },
  )
  if (isOver) return result
  return data?.workflow === 'lost_device' && data.params.device_id === deviceId ? data : undefined
}
