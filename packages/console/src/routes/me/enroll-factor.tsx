import { type FormEvent, type ReactNode, useState } from 'react'
import { call, type OutputOf } from '../../api/client.ts'
import { queryClient } from '../../api/query-client.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { CopyIcon } from '../../ui/copy.tsx'
import { TextField } from '../../ui/fields.tsx'
import { errorOf, FieldErrors } from '../../ui/problem.tsx'
import { QrCode } from '../../ui/qr-code.tsx'
import { OneTimeSecret } from '../../ui/secret.tsx'
import { Sheet } from '../../ui/sheet.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { toast } from '../../ui/toast.tsx'
import { fieldSentence, hasFieldErrors } from './field-sentence.ts'
import { sessionsRoute } from './use-own-sessions.ts'

type Started = OutputOf<'POST /v1/admin/users/totp/enroll'>
/** Another user for whom an administrator sets up the factor. */
type Other = { user_id: string; name: string }
type Props = { hasPassword: boolean; user?: Other | undefined; onClose: () => void }

/**
 * Sets up an authenticator app: password, code of the app, then recovery codes. Only the state of this component holds
 * seed and codes.
 *
 * @param user another user; default: the caller
 */
export function EnrollFactor({ hasPassword, user, onClose }: Props) {
  const [started, setStarted] = useState<Started>()
  const [codes, setCodes] = useState<readonly string[]>()
  // Refreshes `me` only now: the section would otherwise remove this sheet once the factor is on.
  const finish = () => {
    onClose()
    toast({ title: user ? `Second factor of ${user.name} is on` : 'Your second factor is on' })
    void queryClient.invalidateQueries({ queryKey: ['GET /v1/admin/me'] })
    void queryClient.invalidateQueries({ queryKey: [sessionsRoute] })
    if (user) void queryClient.invalidateQueries({ predicate: ({ queryKey: [route] }) => isOfUsers(String(route)) })
  }
  if (codes)
    return (
      <OneTimeSecret
        title={user ? `Recovery codes of ${user.name}` : 'Recovery codes'}
        what="set of recovery codes"
        secret={codes.join('\n')}
        usage={`${user ? 'Give them to the user, apart from the phone.' : 'Keep them apart from your phone.'} Each of them works for one sign-in, instead of a code from the app.`}
        ifLost="Turn the second factor off and set it up again."
        onClose={finish}
      />
    )
  return started ? (
    <Verify started={started} user={user} onVerified={setCodes} onClose={onClose} />
  ) : (
    <Start {...{ hasPassword, user, onClose }} onStarted={setStarted} />
  )
}

const isOfUsers = (route: string) => route.startsWith('GET /v1/admin/users')

function Start({ hasPassword, user, onStarted, onClose }: Props & { onStarted: (started: Started) => void }) {
  const [password, setPassword] = useState('')
  const { error, isBusy, run } = useSend()
  const send = () =>
    run(async () => {
      const body = { ...(hasPassword && { current_password: password }), ...(user && { user_id: user.user_id }) }
      onStarted(await call('POST /v1/admin/users/totp/enroll', { body }))
    })
  return (
    <FactorSheet
      title={user ? `Set up the second factor of ${user.name}` : 'Set up second factor'}
      {...{ onClose, isBusy, send }}
      label="Continue"
      busyLabel="Checking…"
    >
      {user ? (
        <p>
          Do this together with {user.name}, who needs an authenticator app on a phone. The next step shows a QR code,
          and asks for a code of the app. All sign-ins of {user.name} end.
        </p>
      ) : (
        <p>You need an authenticator app on your phone. It shows a new code every 30 seconds.</p>
      )}
      {hasPassword && (
        <TextField
          {...{ label: 'Your password', type: 'password', autoComplete: 'current-password', maxLength: 1024 }}
          help="It proves that this change is yours."
          value={password}
          onChange={setPassword}
          error={fieldSentence('The password', errorOf(error, 'current_password'))}
        />
      )}
      <Failure error={error} fields={['current_password']} />
    </FactorSheet>
  )
}

type VerifyProps = {
  started: Started
  user: Other | undefined
  onVerified: (codes: readonly string[]) => void
  onClose: () => void
}

function Verify({ started, user, onVerified, onClose }: VerifyProps) {
  const [code, setCode] = useState('')
  const { error, isBusy, run } = useSend()
  const send = () =>
    run(async () => {
      const { recovery_codes } = await call('POST /v1/admin/users/totp/verify', {
        body: { code, ...(user && { user_id: user.user_id }) },
      })
      onVerified(recovery_codes)
    })
  return (
    <FactorSheet
      title="Scan with your app"
      {...{ onClose, isBusy, send }}
      label="Turn on second factor"
      busyLabel="Checking…"
      isHeld
    >
      <p>
        Scan the code with {user ? `the authenticator app of ${user.name}` : 'your authenticator app'}, or type the key.
        It is shown only now, and is valid until <Timestamp at={started.expires_at} as="clock" />.
      </p>
      <QrCode text={started.provisioning_uri} label={`QR code for ${user ? 'the' : 'your'} authenticator app`} />
      <div className="f">
        <span className="lab" id="factor-key">
          Key
        </span>
        <fieldset className="secret" aria-labelledby="factor-key">
          <code>{started.secret}</code>
          <CopyIcon text={started.secret} label="Copy key" />
        </fieldset>
      </div>
      <TextField
        {...{ label: 'Code from the app', inputMode: 'numeric', autoComplete: 'one-time-code', maxLength: 32 }}
        value={code}
        onChange={setCode}
        error={fieldSentence('The code', errorOf(error, 'code'))}
      />
      <Failure error={error} fields={['code']} />
    </FactorSheet>
  )
}

/** Sends one request at a time, and stores its error. */
function useSend() {
  const [error, setError] = useState<Error | null>(null)
  const [isBusy, setBusy] = useState(false)
  const run = async (send: () => Promise<void>) => {
    setBusy(true)
    setError(null)
    try {
      await send()
    } catch (e) {
      setError(e as Error)
    }
    setBusy(false)
  }
  return { error, isBusy, run }
}

type FailureProps = { error: Error | null; fields: readonly string[] }
const Failure = ({ error, fields }: FailureProps) => (
  <>
    <FieldErrors error={error} fields={fields} />
    {error && !hasFieldErrors(error) && <ChangeProblem error={error} />}
  </>
)

type SheetProps = {
  title: string
  label: string
  busyLabel: string
  isBusy: boolean
  isHeld?: boolean
  send: () => void
  onClose: () => void
  children: ReactNode
}

function FactorSheet({ title, label, busyLabel, isBusy, isHeld = false, send, onClose, children }: SheetProps) {
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    send()
  }
  return (
    <Sheet
      title={title}
      onClose={onClose}
      isHeld={isHeld && 'typed'}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busyLabel={busyLabel} isBusy={isBusy} onClick={send}>
            {label}
          </Button>
        </>
      }
    >
      <form className="stack" onSubmit={onSubmit} noValidate>
        {children}
      </form>
    </Sheet>
  )
}
