import { useEffect, useState } from 'react'
import { call } from '../../api/client.ts'
import { expectOwnChange } from '../../api/live.ts'
import { useOffReason } from '../../api/me.ts'
import { queryClient } from '../../api/query-client.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Note } from '../../ui/note.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { DeviceStatus } from '../devices/device-status.tsx'
import { deviceIcon, platformWords, systemOf } from '../devices/words.ts'
import type { Arrival, ArrivedDevice } from './use-arrival.ts'
import { type Attempt, refusals } from './words.ts'

/** Returns the current title of the third step. */
export function arrivalTitle({ devices, isUsable, canSeeDevices, token }: Arrival): string {
  const newest = devices[0]
  if (newest && newest.status === 'pending') return `${newest.name} waits for approval`
  if (newest) return devices.length === 1 ? `${newest.name} is enrolled` : `${newest.name} and others are enrolled`
  if (!canSeeDevices) return 'The device appears under Devices'
  if (!isUsable) return token.status === 'expired' ? 'The token has expired' : 'The token can no longer be used'
  return isRefused(token.last_attempt) ? 'A device was refused' : 'Waiting for the device…'
}

/** True for a refusal after the newest enrollment. An earlier one is outdated. */
const isRefused = (attempt: Attempt | null, after?: ArrivedDevice): attempt is Attempt =>
  attempt?.outcome === 'refused' && (after === undefined || attempt.at > after.enrolled_at)

/** Row that updates itself: waiting, seen, waiting for approval, enrolled. */
export function ArrivalRow({ arrival, waited }: { arrival: Arrival; waited: number }) {
  const { devices, hasMore, isUsable, token, error, canSeeDevices } = arrival
  if (!canSeeDevices)
    return (
      <span className="soft">You may not read devices. Somebody with the permission devices:read sees it arrive.</span>
    )
  return (
    <>
      {error && devices.length === 0 && <Problem error={error} retry={readAgain} what="the new device" />}
      {isRefused(token.last_attempt, devices[0]) && (
        <Refusal attempt={token.last_attempt} refused={token.attempts_refused} />
      )}
      {devices.length > 0 && (
        <ul className="arrived" aria-label="Devices of this token">
          {devices.map((device) => (
            <Arrived key={device.device_id} device={device} />
          ))}
        </ul>
      )}
      {hasMore && <AppLink to={`/admin/devices?token_id=${token.token_id}`}>All devices of this token</AppLink>}
      {devices.length === 0 && isUsable && <Waiting waited={waited} />}
      {devices.length > 0 && isUsable && <span className="soft">The token is valid for more devices.</span>}
    </>
  )
}

const readAgain = () =>
  queryClient.invalidateQueries({
    predicate: ({ queryKey: [route] }) => /GET \/v1\/admin\/(devices|tokens|start)/.test(String(route)),
  })

const patience = 120

function Waiting({ waited }: { waited: number }) {
  return (
    <>
      <span className="soft">Its name appears here by itself. Nothing after 2 min?</span>
      <div className="waitrow" aria-hidden="true">
        <span className="skel w45" />
        <span className="skel w30" />
      </div>
      <details className="more" open={waited >= patience || undefined}>
        <summary>What to check</summary>
        <ul className="checklist">
          <li>The whole line was copied, and it was run unchanged.</li>
          <li>The device opens this address: {window.location.origin}</li>
          <li>The clock of the device is right. A wrong clock makes the proof of its key invalid.</li>
          <li>A firewall or proxy lets HTTPS through to this server.</li>
        </ul>
      </details>
    </>
  )
}

/** Refused attempt: the reason in plain words, and advice. */
export function Refusal({ attempt, refused }: { attempt: Attempt; refused: number }) {
  const { fact, advice } = attempt.reason
    ? refusals[attempt.reason]
    : { fact: 'The device was refused.', advice: 'The audit log says why.' }
  return (
    <Note kind="bad" role="status" title={fact}>
      <p>{advice}</p>
      <p className="xs soft">
        <Timestamp at={attempt.at} /> from <span className="mono">{attempt.source_ip}</span>
        {attempt.platform && `, ${platformWords[attempt.platform]}`}
        {refused > 1 && `, ${refused} refused attempts in total`}
      </p>
    </Note>
  )
}

function Arrived({ device }: { device: ArrivedDevice }) {
  const [error, setError] = useState<Error>()
  const off = useOffReason()
  const approve = async () => {
    setError(undefined)
    expectOwnChange('devices')
    await call('POST /v1/admin/devices/lifecycle', {
      body: { operation: 'approve', device_id: device.device_id },
    }).catch(setError)
    await readAgain()
  }
  return (
    <li>
      <div className="row between wrap">
        <span className="row">
          <Icon name={deviceIcon(device)} className="faint" />
          <AppLink to={`/admin/devices/${device.device_id}`} className="strong">
            {device.name}
          </AppLink>
          <span className="soft">{systemOf(device)}</span>
        </span>
        {device.status === 'pending' ? (
          <span className="row">
            <Status kind="ring">Waits for approval</Status>
            <Button size="sm" kind="primary" busyLabel="Approving…" onClick={approve} offReason={off('devices:write')}>
              Approve
            </Button>
          </span>
        ) : (
          <DeviceStatus device={device} />
        )}
      </div>
      {error && <ChangeProblem error={error} />}
    </li>
  )
}

/** Returns the seconds since the first render of a component. */
export function useSeconds(isCounting: boolean): number {
  const [seconds, setSeconds] = useState(0)
  useEffect(() => {
    if (!isCounting) return
    const timer = setInterval(() => setSeconds((before) => before + 1), 1000)
    return () => clearInterval(timer)
  }, [isCounting])
  return seconds
}
