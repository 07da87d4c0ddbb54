import { type ReactNode, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { Part } from '../../ui/part.tsx'
import { Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { isLocked, type User } from '../users/words.ts'
import { BreakGlass, useBreakGlassOff } from './break-glass.tsx'
import { Identities } from './identities.tsx'
import { FactorWords, PasswordWords } from './profile-tab.tsx'
import type { TabProps } from './tab.ts'
import { askFor } from './user-actions.tsx'
import { type UserAction, useUserOff } from './user-off.ts'

/** How the user signs in: password, second factor, lock, accounts of providers. */
export function SignInTab({ user, inPanel }: TabProps) {
  if (user.kind === 'service')
    return (
      <Part title="Sign-in" inPanel={inPanel}>
        <p className="soft">A service account cannot sign in. It acts with API keys, and has the roles of this page.</p>
      </Part>
    )
  return (
    <>
      <Part title="Sign-in" inPanel={inPanel} inset="none">
        <div className="sets">
          <Row user={user} label="Password" action="password" button="Set password…">
            <PasswordWords user={user} />
          </Row>
          <Row
            user={user}
            label="Second factor"
            action={user.mfa.enabled ? 'disable_factor' : 'enroll_factor'}
            button={user.mfa.enabled ? 'Turn off second factor…' : 'Set up second factor…'}
          >
            <FactorWords user={user} />
          </Row>
          <Row user={user} label="Failed sign-ins" action="unlock" button="Unlock…">
            <LockWords user={user} />
          </Row>
          <BreakGlassRow user={user} />
        </div>
      </Part>
      <Identities user={user} inPanel={inPanel} />
    </>
  )
}

type RowProps = { user: User; label: string; action: UserAction; button: string; children: ReactNode }

/** Property of the sign-in, and the button that changes it. */
function Row({ user, label, action, button, children }: RowProps) {
  const off = useUserOff()
  return (
    <div className="set">
      <div>
        <span className="lab">{label}</span>
        <div>{children}</div>
      </div>
      <div className="unit">
        <Button size="sm" offReason={off(action, user)} onClick={() => askFor(action, user)}>
          {button}
        </Button>
      </div>
    </div>
  )
}

const LockWords = ({ user }: { user: User }) =>
  isLocked(user) ? (
    <Status kind="bad">
      Locked until <Timestamp at={user.locked_until} as="exact" />
    </Status>
  ) : (
    <span className="soft">Not locked</span>
  )

function BreakGlassRow({ user }: { user: User }) {
  const [isAsking, setAsking] = useState(false)
  const offReason = useBreakGlassOff(user)
  return (
    <div className="set">
      <div>
        <span className="lab">Break glass</span>
        <div className="soft">
          {user.break_glass
            ? 'May sign in with a password while single sign-on is enforced.'
            : 'Follows the sign-in rules of the tenant.'}
        </div>
      </div>
      <div className="unit">
        <Button size="sm" offReason={offReason} onClick={() => setAsking(true)}>
          {user.break_glass ? 'End break glass…' : 'Make break glass…'}
        </Button>
      </div>
      {isAsking && <BreakGlass user={user} onClose={() => setAsking(false)} />}
    </div>
  )
}
