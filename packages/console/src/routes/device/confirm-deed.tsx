import { useState } from 'react'
import { call, type OutputOf } from '../../api/client.ts'
import { expectOwnChange } from '../../api/live.ts'
import { queryClient } from '../../api/query-client.ts'
import { withStepUp } from '../../api/step-up.ts'
import type { DeviceDeed, DeviceTarget } from '../../shell/overlay.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Problem } from '../../ui/problem.tsx'
import { toast } from '../../ui/toast.tsx'
import { BatchResult } from './batch-result.tsx'
import { deedWords, devicesNamed } from './deed-words.ts'

type Props = {
  deed: Exclude<DeviceDeed, 'lost'>
  target: DeviceTarget
  onDone?: (() => void) | undefined
  onClose: () => void
}
type Result = OutputOf<'POST /v1/admin/devices/batch'>
const shownNames = 5
const typedAbove = 25

/** Asks before a deed on one device or many, does it in one request, and says what became of each. */
export function ConfirmDeed({ deed, target, onDone, onClose }: Props) {
  const [error, setError] = useState<Error>()
  const [result, setResult] = useState<Result>()
  const words = deedWords[deed]
  const devices = 'devices' in target ? target.devices : []
  const count = 'devices' in target ? devices.length : target.matched
  const named = devicesNamed(count, devices[0]?.name)
  const act = async (reason: string | undefined) => {
    try {
      const answer = await withStepUp(() => run(deed, target, reason))
      await refresh()
      onDone?.()
      if (answer.summary.failed > 0) return setResult(answer)
      toast({ title: sentenceOf(answer, named, words.done) })
      onClose()
    } catch (e) {
      setError(e as Error)
    }
  }
  if (result) return <BatchResult title={`${words.verb}: what became of it`} result={result} onClose={onClose} />
  return (
    <Confirm
      title={`${words.verb} ${named}${words.isForGood ? ' for good' : ''}?`}
      lede={words.lede}
      objects={{ names: devices.slice(0, shownNames).map((d) => d.name), more: Math.max(0, count - shownNames) }}
      effects={words.effects}
      reason="optional"
      {...(count > typedAbove && { typed: String(count) })}
      keepLabel={count === 1 ? 'Cancel' : 'Keep devices'}
      deedLabel={`${words.verb} ${named}`}
      busyLabel={words.busy}
      danger={deed === 'revoke' || deed === 'suspend'}
      command={commandOf(deed, target)}
      problem={error && <Problem error={error} retry={() => setError(undefined)} what="this change" />}
      onConfirm={act}
      onClose={onClose}
    />
  )
}

/** One request for all of them. A deed on one device goes the same way. */
function run(deed: Props['deed'], target: DeviceTarget, reason: string | undefined): Promise<Result> {
  expectOwnChange('devices')
  expectOwnChange('sessions')
  const which = 'devices' in target ? { device_ids: target.devices.map((d) => d.device_id) } : { filter: target.filter }
  const body = { operation: deed, ...which, ...(reason !== undefined && { reason }) }
  return call('POST /v1/admin/devices/batch', { body: body as never })
}

/** Reads again whatever shows devices. */
const refresh = () =>
  queryClient.invalidateQueries({
    predicate: ({ queryKey: [route] }) => /\/v1\/admin\/(devices|sessions|dashboard|start)/.test(String(route)),
  })

function sentenceOf({ summary: { changed, unchanged } }: Result, named: string, done: string): string {
  if (changed === 0) return `${named}: nothing to change`
  return unchanged === 0 ? `${named} ${done}` : `${devicesNamed(changed, undefined)} ${done}, ${unchanged} unchanged`
}

function commandOf(deed: string, target: DeviceTarget): string {
  if (!('devices' in target)) {
    const filter = Object.entries(target.filter).map(([name, value]) => `--${name.replaceAll('_', '-')} ${value}`)
    return ['holdfast device batch', deed, ...filter].join(' ')
  }
  if (target.devices.length === 1) return `holdfast device ${deed} ${target.devices[0]?.name}`
  return `holdfast device batch ${deed} ${target.devices.map((d) => d.device_id).join(' ')}`
}
