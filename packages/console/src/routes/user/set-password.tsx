import { type FormEvent, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { call, type OutputOf } from '../../api/client.ts'
import { withStepUp } from '../../api/step-up.ts'
import type { UserRef } from '../../shell/overlay.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { CheckboxField, RadioGroup } from '../../ui/choices.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { TextField } from '../../ui/fields.tsx'
import { formatCount } from '../../ui/format.ts'
import { formatExact } from '../../ui/format-time.ts'
import { errorOf, FieldErrors } from '../../ui/problem.tsx'
import { OneTimeSecret } from '../../ui/secret.tsx'
import { Sheet } from '../../ui/sheet.tsx'
import { useTimeZone } from '../../ui/time-zone.ts'
import { toast } from '../../ui/toast.tsx'
import { fieldSentence, hasFieldErrors } from '../me/field-sentence.ts'
import { usePasswordRules } from '../me/password-rules.ts'
import { nameOf } from '../users/words.ts'
import { expectUserChange, refreshUsers, warningText } from './change-users.ts'

type Done = OutputOf<'POST /v1/admin/users/password'>
type Props = { user: UserRef; onClose: () => void }

/** Sets the password of another user. Only the state of this component holds a temporary password. */
export function SetPassword({ user, onClose }: Props) {
  const [done, setDone] = useState<Done>()
  if (done?.secret) return <TemporaryPassword user={user} done={done} onClose={onClose} />
  const finish = (answer: Done) => {
    if (answer.secret) return setDone(answer)
    toast({ title: `Password of ${nameOf(user)} set`, text: endedWords(answer) })
    onClose()
  }
  return <PasswordForm user={user} onDone={finish} onClose={onClose} />
}

const ways = [
  {
    value: 'temporary',
    label: 'Generate a temporary password',
    help: 'It opens one session within a day. The user must then choose a new password.',
  },
  { value: 'given', label: 'Type a password', help: 'It stays valid until somebody changes it.' },
] as const
type Way = (typeof ways)[number]['value']

function PasswordForm({ user, onDone, onClose }: Props & { onDone: (done: Done) => void }) {
  const [way, setWay] = useState<Way>('temporary')
  const [password, setPassword] = useState('')
  const [endsKeys, setEndsKeys] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const [isBusy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const rules = usePasswordRules()
  const send = async () => {
    setBusy(true)
    setError(null)
    try {
      expectUserChange()
      const wanted = way === 'temporary' ? { generate: true } : { new_password: password }
      const body = { user_id: user.user_id, ...wanted, ...(endsKeys && { revoke_api_keys: true }) }
      const done = await withStepUp(() => call('POST /v1/admin/users/password', { body }))
      await refreshUsers()
      onDone(done)
    } catch (e) {
      flushSync(() => setError(e as Error))
      form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
    }
    setBusy(false)
  }
  const isMissing = way === 'given' && password === ''
  const label = way === 'temporary' ? 'Generate password' : 'Set password'
  return (
    <Sheet
      title={`Set the password of ${nameOf(user)}`}
      isHeld={password !== '' && 'typed'}
      onClose={onClose}
      footer={
        <>
          <CopyButton kind="ghost" text={commandOf(user, way, endsKeys)} label="Copy as command" />
          <span className="grow" />
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            busyLabel="Setting…"
            isBusy={isBusy}
            offReason={isMissing ? 'Type a password first.' : undefined}
            onClick={send}
          >
            {label}
          </Button>
        </>
      }
    >
      <form
        className="stack"
        ref={form}
        noValidate
        onSubmit={(event: FormEvent) => {
          event.preventDefault()
          if (!isMissing) void send()
        }}
      >
        <p>
          Make sure that you talk to the owner of the account. All sign-ins of {nameOf(user)} end. VPN sessions stay.
        </p>
        <RadioGroup label="New password" options={ways} value={way} onChange={setWay} />
        {way === 'given' && (
          <TextField
            {...{ label: 'Password', type: 'password', autoComplete: 'new-password', maxLength: 1024 }}
            help={rules}
            value={password}
            onChange={setPassword}
            error={fieldSentence('The password', errorOf(error, 'new_password'))}
          />
        )}
        <CheckboxField
          label="Also revoke the API keys"
          help="The keys that the user owns or created."
          value={endsKeys}
          onChange={setEndsKeys}
        />
        <button type="submit" hidden tabIndex={-1}>
          {label}
        </button>
        <FieldErrors error={error} fields={way === 'given' ? ['new_password'] : []} />
        {error && !hasFieldErrors(error) && <ChangeProblem error={error} />}
      </form>
    </Sheet>
  )
}

/** Shows a temporary password once. The user must change it after the sign-in. */
export function TemporaryPassword({ user, done, onClose }: Props & { done: Done }) {
  const until = formatExact(done.expires_at ?? '', useTimeZone())
  return (
    <OneTimeSecret
      title={`Temporary password of ${nameOf(user)}`}
      what="temporary password"
      secret={done.secret ?? ''}
      usage={`Give it to ${nameOf(user)} in person or by phone. It opens one session until ${until}. ${endedWords(done)}`}
      ifLost="generate another one."
      onClose={onClose}
    />
  )
}

/** Sentence on what ended, and the warnings of the server. */
function endedWords({ sessions_terminated, api_keys_revoked, warnings }: Done): string {
  const ended = [
    formatCount(sessions_terminated, 'sign-in'),
    api_keys_revoked > 0 && formatCount(api_keys_revoked, 'API key'),
  ].filter(Boolean)
  return [`Ended: ${ended.join(', ')}.`, warningText(warnings)].filter(Boolean).join(' ')
}

const commandOf = ({ username }: UserRef, way: Way, endsKeys: boolean): string =>
  [`holdfast user password ${username}`, way === 'temporary' && '--generate', endsKeys && '--revoke-api-keys']
    .filter(Boolean)
    .join(' ')
