import { useState } from 'react'
import { call, type OutputOf } from '../../api/client.ts'
import { expectOwnChange } from '../../api/live.ts'
import { useCan } from '../../api/me.ts'
import { withStepUp } from '../../api/step-up.ts'
import type { DeviceRef } from '../../shell/overlay.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { RadioGroup } from '../../ui/choices.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { TextField } from '../../ui/fields.tsx'
import { Sheet } from '../../ui/sheet.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import { refreshDevices } from './change-devices.ts'
import { deedCommand } from './deed-command.ts'
import { LostDeviceOff } from './lost-device-off.tsx'
import { LostDevicePreview, useGateways } from './lost-device-preview.tsx'
import { PlaybookRun } from './playbook-run.tsx'
import { useRunOf } from './use-run-of.ts'

type Props = { device: DeviceRef; onClose: () => void }
type Run = OutputOf<'POST /v1/admin/incident/playbook'>['run']
type Way = 'revoke' | 'lock'

const ways = [
  { value: 'revoke', label: 'Revoke it for good', help: 'It cannot be reactivated. Its owner must enroll it again.' },
  { value: 'lock', label: 'Lock it until it is found', help: 'It gets no access until somebody releases the lock.' },
] as const

/** Journey J3: one sheet from the report of a lost device to the confirmation of all gateways. `Enter` runs it. */
export function LostDevice({ device, onClose }: Props) {
  const can = useCan()
  return can('incidents:run') ? (
    <LostDeviceSheet {...{ device, onClose }} />
  ) : (
    <LostDeviceOff {...{ device, onClose }} />
  )
}

function LostDeviceSheet({ device, onClose }: Props) {
  const [way, setWay] = useDraft<Way>(`lost way ${device.device_id}`, 'revoke')
  const [reason, setReason] = useDraft(`lost reason ${device.device_id}`, '')
  const [startedAt, setStartedAt] = useState<number>()
  const [result, setResult] = useState<Run>()
  const [error, setError] = useState<Error>()
  const gateways = useGateways()
  const run = useRunOf('lost_device', { device_id: device.device_id }, startedAt, result)
  const isForGood = way === 'revoke'
  const start = async () => {
    setError(undefined)
    setStartedAt(Date.now())
    expectOwnChange('devices')
    expectOwnChange('sessions')
    const params = { device_id: device.device_id, revoke: isForGood }
    const body = { workflow: 'lost_device', params, ...(reason.trim() && { reason: reason.trim() }) }
    try {
      setResult((await withStepUp(() => call('POST /v1/admin/incident/playbook', { body }))).run)
      await refreshDevices()
    } catch (e) {
      setError(e as Error)
      setStartedAt(undefined)
    }
  }
  if (startedAt !== undefined)
    return (
      <PlaybookRun {...{ name: device.name, startedAt, run, gateways, onClose }} words={runWords(device, isForGood)} />
    )
  const command = deedCommand('lost', { devices: [device] })
  return (
    <Sheet
      title={`Lost device: ${device.name}`}
      onClose={onClose}
      footer={
        <>
          <CopyButton kind="ghost" text={`${command}${isForGood ? '' : ' revoke=false'}`} label="Copy as command" />
          <span className="grow" />
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="danger-solid" kbd="Enter" onClick={start}>
            {isForGood ? `Revoke ${device.name}` : `Lock ${device.name}`}
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
        <LostDevicePreview device={device} gateways={gateways} isForGood={isForGood} />
        <TextField
          label="Reason"
          help="Recorded in the audit log."
          placeholder="Left on a train"
          value={reason}
          onChange={setReason}
          maxLength={500}
          optional
        />
        <RadioGroup label="What to do with it" options={ways} value={way} onChange={setWay} />
        {error && <ChangeProblem error={error} />}
      </form>
    </Sheet>
  )
}

const runWords = ({ name }: DeviceRef, isForGood: boolean) =>
  isForGood
    ? {
        busy: `Revoking ${name}…`,
        done: `${name} is revoked`,
        note: 'A revocation is final. If the device is found, its owner must enroll it again.',
      }
    : {
        busy: `Locking ${name}…`,
        done: `${name} is locked`,
        note: 'If the device is found, it works again after somebody releases the lock.',
      }
