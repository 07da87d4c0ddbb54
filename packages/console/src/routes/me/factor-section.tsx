import { useState } from 'react'
import { useMe, useOffReason } from '../../api/me.ts'
import { Button } from '../../ui/button.tsx'
import { formatCount } from '../../ui/format.ts'
import { Status } from '../../ui/status.tsx'
import { DisableFactor } from './disable-factor.tsx'
import { EnrollFactor } from './enroll-factor.tsx'
import { Section } from './section.tsx'

/** Number of recovery codes from which on their count has a warning. */
const fewCodes = 3

/** Authenticator app of the person: state, setup and removal. */
export function FactorSection({ provider }: { provider: string | undefined }) {
  const { session } = useMe()
  const off = useOffReason()('credentials:write')
  const [open, setOpen] = useState<'enroll' | 'disable'>()
  const isOn = session?.mfa === true
  const close = () => setOpen(undefined)
  return (
    <Section id="factor" title="Second factor">
      <div className="set">
        <div>
          <span className="lab">Authenticator app</span>
          <div className="help">
            {isOn
              ? 'A sign-in with your password also asks for a code from the app.'
              : 'A stolen password alone is then not enough: a sign-in also asks for a code from the app.'}
            {provider !== undefined && ` A sign-in through ${provider} asks for the factor of that provider instead.`}
          </div>
        </div>
        <div className="unit">
          <Status kind={isOn ? 'ok' : 'off'}>{isOn ? 'On' : 'Off'}</Status>
        </div>
      </div>
      {isOn && <CodesLeft count={session.recovery_codes_left} />}
      <div className="in row wrap">
        {isOn ? (
          <Button kind="danger" offReason={off && `${off} Ask an administrator.`} onClick={() => setOpen('disable')}>
            Turn off second factor…
          </Button>
        ) : (
          <Button onClick={() => setOpen('enroll')}>Set up second factor…</Button>
        )}
      </div>
      {open === 'enroll' && <EnrollFactor hasPassword={provider === undefined} onClose={close} />}
      {open === 'disable' && <DisableFactor hasPassword={provider === undefined} onClose={close} />}
    </Section>
  )
}

const CodesLeft = ({ count }: { count: number }) => (
  <div className="set">
    <div>
      <span className="lab">Recovery codes</span>
      <div className="help">
        Each works for one sign-in without the app.{' '}
        {count <= fewCodes && 'To get new ones, turn the second factor off and set it up again.'}
      </div>
    </div>
    <div className="unit">
      {count <= fewCodes ? (
        <Status kind={count === 0 ? 'bad' : 'warn'}>{formatCount(count, 'code')} left</Status>
      ) : (
        <span className="soft">{formatCount(count, 'code')} left</span>
      )}
    </div>
  </div>
)
