import { useEffect, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { formatExact } from '../../ui/format-time.ts'
import { KeyValues } from '../../ui/key-values.tsx'
import { Note } from '../../ui/note.tsx'
import { Sheet } from '../../ui/sheet.tsx'
import { Steps } from '../../ui/steps.tsx'
import { useTimeZone } from '../../ui/time-zone.ts'
import { platformWords } from '../devices/words.ts'
import { ArrivalRow, arrivalTitle, useSeconds } from './arrival.tsx'
import { InstallLine } from './install-line.tsx'
import { RevokeToken } from './revoke-token.tsx'
import type { MadeToken } from './token-form.tsx'
import { type Arrival, useArrival } from './use-arrival.ts'
import { devicesAllowed, groupsOf, type Token, tokenName } from './words.ts'

type Props = { made: MadeToken; onAnother: () => void; onRevoked: () => void; onClose: () => void }

/** Second half of the sheet: the line with the secret, and the status of the device. */
export function MadeSheet({ made, onAnother, onRevoked, onClose }: Props) {
  const arrival = useArrival(made.enrollment_token)
  const [isStored, setIsStored] = useState(false)
  const [isRevoking, setIsRevoking] = useState(false)
  const { isUsable, token, devices } = arrival
  const isSafe = isStored || !isUsable
  const waited = useSeconds(isUsable && devices.length === 0)
  useWarningBeforeUnload(!isSafe)
  return (
    <Sheet
      title="Enroll device"
      onClose={onClose}
      isHeld={isUsable && 'secret'}
      footer={
        <>
          {isSafe && (
            <Button kind="ghost" onClick={onAnother}>
              Enroll another
            </Button>
          )}
          <span className="grow" />
          <Button onClick={onClose} offReason={isSafe ? undefined : 'Copy the line first.'}>
            Done
          </Button>
        </>
      }
    >
      <Steps
        steps={stepsOf({
          made,
          arrival,
          waited,
          onStored: () => setIsStored(true),
          onRevoke: () => setIsRevoking(true),
        })}
      />
      {isUsable && (
        <Note icon="lock" kind="info" title="The token is shown only now.">
          Holdfast stores only a hash of it. If you lose the token, revoke it and create another one.
        </Note>
      )}
      <TokenTerms token={token} />
      {isRevoking && (
        <RevokeToken
          token={{ ...token, name: tokenName(token) }}
          onRevoked={onRevoked}
          onClose={() => setIsRevoking(false)}
        />
      )}
    </Sheet>
  )
}

type StepsInput = {
  made: MadeToken
  arrival: Arrival
  waited: number
  onStored: () => void
  onRevoke: () => void
}

function stepsOf({ made, arrival, waited, onStored, onRevoke }: StepsInput) {
  const { isUsable, devices, token } = arrival
  const isHere = devices.length > 0 && devices.every((device) => device.status !== 'pending')
  return [
    {
      id: 'token',
      title: 'Token created',
      state: 'done' as const,
      children: <MadeWords token={token} />,
      aside: isUsable && (
        <button className="btn link" type="button" onClick={onRevoke}>
          Revoke
        </button>
      ),
    },
    {
      id: 'line',
      title: 'Run this on the device',
      state: isUsable ? ('now' as const) : ('done' as const),
      children: isUsable ? (
        <InstallLine made={made} onStored={onStored} />
      ) : (
        <span className="soft">{endedWords[token.status]} It enrolls no other device.</span>
      ),
    },
    {
      id: 'device',
      title: arrivalTitle(arrival),
      state: isHere ? ('done' as const) : ('waiting' as const),
      children: <ArrivalRow arrival={arrival} waited={waited} />,
      aside: devices.length === 0 && isUsable && <Clock seconds={waited} />,
    },
  ]
}

/**
 * Reasons why a token no longer works. The status may be older than the list of devices, which is the first to show
 * that the token is used up.
 */
const endedWords: Readonly<Record<Token['status'], string>> = {
  active: 'The token has no uses left.',
  exhausted: 'The token has no uses left.',
  expired: 'The token has expired.',
  revoked: 'The token was revoked.',
}

const Clock = ({ seconds }: { seconds: number }) => (
  <span aria-hidden="true">
    {Math.floor(seconds / 60)}:{String(seconds % 60).padStart(2, '0')}
  </span>
)

function MadeWords({ token }: { token: Token }) {
  const until = formatExact(token.expires_at, useTimeZone())
  const groups = groupsOf(token)
  const allowed = devicesAllowed(token.max_uses)
  return (
    <span className="soft">
      {allowed.charAt(0).toUpperCase() + allowed.slice(1)}, until <time dateTime={token.expires_at}>{until}</time>
      {groups.length > 0 && (
        <>
          , joins <b className="strong">{groups.join(', ')}</b>
        </>
      )}
    </span>
  )
}

const TokenTerms = ({ token }: { token: Token }) => (
  <details className="more">
    <summary>Token settings</summary>
    <KeyValues
      rows={[
        ['Name', token.name || 'none'],
        ['Groups', groupsOf(token).join(', ') || 'none'],
        ['User', token.user_name ?? 'none'],
        ['Tags', token.tags.join(', ') || 'none'],
        ['Platforms', token.platforms.map((platform) => platformWords[platform]).join(', ') || 'all'],
        ['From addresses', token.allowed_cidrs.join(', ') || 'anywhere'],
        ['Approval', token.requires_approval ? 'by an administrator' : 'not needed'],
        [
          'Hint',
          <span className="mono" key="hint">
            …{token.hint}
          </span>,
        ],
      ]}
    />
  </details>
)

/** Makes the browser ask before a reload or a closed tab loses the secret. */
function useWarningBeforeUnload(isOn: boolean): void {
  useEffect(() => {
    if (!isOn) return
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    window.addEventListener('beforeunload', warn)
    return () => window.removeEventListener('beforeunload', warn)
  }, [isOn])
}
