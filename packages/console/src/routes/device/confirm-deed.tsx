import { useState } from 'react'
import { withStepUp } from '../../api/step-up.ts'
import type { DeviceDeed, DeviceRef, DeviceTarget } from '../../shell/overlay.ts'
import { BulkResult } from '../../table/bulk-result.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { formatNumber } from '../../ui/format.ts'
import { Icon } from '../../ui/icon.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { toast } from '../../ui/toast.tsx'
import { deviceIcon } from '../devices/words.ts'
import { type BatchAnswer, changeDevices } from './change-devices.ts'
import { deedCommand } from './deed-command.ts'
import { deedWords, devicesNamed, effectsOf } from './deed-words.ts'
import { Working } from './working.tsx'

type Props = {
  deed: Exclude<DeviceDeed, 'lost'>
  target: DeviceTarget
  onDone?: (() => void) | undefined
  onClose: () => void
}
const shownNames = 5
const typedAbove = 25

/** Asks before an action on one or more devices, runs it in one request, and shows the result of each device. */
export function ConfirmDeed({ deed, target, onDone, onClose }: Props) {
  const [error, setError] = useState<Error>()
  const [result, setResult] = useState<BatchAnswer>()
  const [startedAt, setStartedAt] = useState<number>()
  const words = deedWords[deed]
  const { devices } = target
  const count = target.filter === undefined ? devices.length : target.matched
  const named = devicesNamed(count, devices[0]?.name)
  const act = async (reason: string | undefined) => {
    setError(undefined)
    setStartedAt(Date.now())
    try {
      const answer = await withStepUp(() => changeDevices(deed, target, reason))
      onDone?.()
      if (answer.summary.failed > 0 || count > typedAbove) return setResult(answer)
      toast({ title: sentenceOf(answer, named, words.done) })
      onClose()
    } catch (e) {
      setError(e as Error)
    }
    setStartedAt(undefined)
  }
  if (result)
    return (
      <BulkResult
        title={`${words.verb} ${named}: results`}
        results={result.results.map(({ device_id: id, outcome, error }) => ({ id, outcome, error }))}
        names={new Map(devices.map((device) => [device.device_id, device.name]))}
        file={{ name: 'devices-result.csv', idColumn: 'device_id' }}
        onClose={onClose}
      />
    )
  return (
    <Confirm
      title={`${words.verb} ${named}${words.isForGood ? ' for good' : ''}?`}
      lede={
        <>
          <Found target={target} /> {words.lede}
        </>
      }
      objects={{ names: devices.slice(0, shownNames).map(lineOf), more: Math.max(0, count - shownNames) }}
      effects={effectsOf(deed, target)}
      reason="optional"
      {...(count > typedAbove && { typed: String(count) })}
      keepLabel={count === 1 ? 'Cancel' : 'Keep devices'}
      deedLabel={`${words.verb} ${named}`}
      busyLabel={words.busy}
      danger={deed === 'revoke' || deed === 'suspend'}
      command={deedCommand(deed, target)}
      problem={
        startedAt !== undefined && count > typedAbove ? (
          <Working since={startedAt}>{`One request for ${formatNumber(count)} devices is running.`}</Working>
        ) : (
          error && <ChangeProblem error={error} />
        )
      }
      onConfirm={act}
      onClose={onClose}
    />
  )
}

/** Filter that selected the devices, in words. */
function Found({ target }: { target: DeviceTarget }) {
  if (target.filter === undefined) return null
  if (target.filterWords.length === 0) return 'All devices of the tenant.'
  return (
    <>
      All devices that match <b className="strong">{target.filterWords.join(', ')}</b>.
    </>
  )
}

const lineOf = (device: DeviceRef) => (
  <>
    <Icon name={device.platform ? deviceIcon({ platform: device.platform }) : 'laptop'} size="s" />
    <span className="strong">{device.name}</span>
    {device.user_name && <span className="soft trunc">{device.user_name}</span>}
    <span className="push faint xs">
      {device.presence === 'online' ? 'online' : device.last_seen_at && <Timestamp at={device.last_seen_at} />}
    </span>
  </>
)

function sentenceOf({ summary: { changed, unchanged } }: BatchAnswer, named: string, done: string): string {
  if (changed === 0) return `${named}: nothing to change`
  return unchanged === 0 ? `${named} ${done}` : `${devicesNamed(changed, undefined)} ${done}, ${unchanged} unchanged`
}
