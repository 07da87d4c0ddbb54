import { signOutOrSay } from '../../shell/sign-out.ts'
import { Button } from '../../ui/button.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { DisplaySection } from './display-section.tsx'
import { FactorSection } from './factor-section.tsx'
import { PasswordSection } from './password-section.tsx'
import { ProfileSection } from './profile-section.tsx'
import { SessionsSection } from './sessions-section.tsx'
import { useOwnSessions } from './use-own-sessions.ts'
import './me.css'

const sections = [
  { id: 'profile', label: 'Profile' },
  { id: 'password', label: 'Password' },
  { id: 'factor', label: 'Second factor' },
  { id: 'sessions', label: 'Sessions' },
  { id: 'display', label: 'Display' },
] as const

/** B37: account of the signed-in person. */
export function Page() {
  const sessions = useOwnSessions()
  return (
    <div className="page read">
      <PageHead
        title="My account"
        actions={
          <Button icon="out" busyLabel="Signing out…" onClick={signOutOrSay}>
            Sign out
          </Button>
        }
      />
      <div className="setgrid">
        <nav className="toc" aria-label="On this page">
          {sections.map(({ id, label }) => (
            <a key={id} href={`#${id}`}>
              {label}
            </a>
          ))}
        </nav>
        <div className="stack loose">
          <ProfileSection />
          <PasswordSection provider={sessions.provider} />
          <FactorSection provider={sessions.provider} />
          <SessionsSection sessions={sessions} />
          <DisplaySection />
        </div>
      </div>
    </div>
  )
}
