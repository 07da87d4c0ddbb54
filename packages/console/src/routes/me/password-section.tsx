import { type FormEvent, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { call } from '../../api/client.ts'
import { queryClient } from '../../api/query-client.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { CheckboxField } from '../../ui/choices.tsx'
import { TextField } from '../../ui/fields.tsx'
import { formatCount } from '../../ui/format.ts'
import { errorOf, FieldErrors } from '../../ui/problem.tsx'
import { toast } from '../../ui/toast.tsx'
import { fieldSentence, hasFieldErrors } from './field-sentence.ts'
import { usePasswordRules } from './password-rules.ts'
import { Section } from './section.tsx'
import { sessionsRoute } from './use-own-sessions.ts'

const empty = { current: '', next: '', again: '' }
const fields = ['current_password', 'new_password']

/** Changes the caller's password. The other sessions of the person end. */
export function PasswordSection({ provider }: { provider: string | undefined }) {
  if (provider !== undefined)
    return (
      <Section id="password" title="Password">
        <p className="in soft">
          You signed in through your identity provider ({provider}). Your password is kept and changed there.
        </p>
      </Section>
    )
  return <PasswordForm />
}

function PasswordForm() {
  const [values, setValues] = useState(empty)
  const [endsKeys, setEndsKeys] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const [isBusy, setBusy] = useState(false)
  const [isTried, setTried] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const help = usePasswordRules()
  const wrong = isTried ? problemsOf(values) : {}
  const set = (name: keyof typeof empty) => (value: string) => setValues({ ...values, [name]: value })
  const send = async () => {
    flushSync(() => {
      setTried(true)
      setError(null)
    })
    if (Object.keys(problemsOf(values)).length > 0) return focusWrong(form.current)
    setBusy(true)
    try {
      toast({ title: 'Your password was changed', text: await change(values, endsKeys) })
      setValues(empty)
      setEndsKeys(false)
      setTried(false)
    } catch (e) {
      flushSync(() => setError(e as Error))
      focusWrong(form.current)
    }
    setBusy(false)
  }
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    void send()
  }
  return (
    <Section id="password" title="Password">
      <form className="in stack narrow" ref={form} onSubmit={onSubmit} noValidate>
        <TextField
          {...{ label: 'Current password', type: 'password', autoComplete: 'current-password', maxLength: 1024 }}
          value={values.current}
          onChange={set('current')}
          error={wrong.current ?? fieldSentence('The current password', errorOf(error, 'current_password'))}
        />
        <TextField
          {...{ label: 'New password', type: 'password', autoComplete: 'new-password', maxLength: 1024, help }}
          value={values.next}
          onChange={set('next')}
          error={wrong.next ?? fieldSentence('The new password', errorOf(error, 'new_password'))}
        />
        <TextField
          {...{ label: 'New password again', type: 'password', autoComplete: 'new-password', maxLength: 1024 }}
          value={values.again}
          onChange={set('again')}
          error={wrong.again}
        />
        <CheckboxField
          label="Also revoke my API keys"
          help="The keys that you own and the keys that you created. Otherwise they stay valid."
          value={endsKeys}
          onChange={setEndsKeys}
        />
        <FieldErrors error={error} fields={fields} />
        {error && !hasFieldErrors(error) && <ChangeProblem error={error} />}
        <div className="row wrap">
          <Button kind="primary" type="submit" busyLabel="Changing…" isBusy={isBusy}>
            Change password
          </Button>
          <span className="soft xs">Your other sessions end. This one stays active.</span>
        </div>
      </form>
    </Section>
  )
}

type Problems = Partial<Record<keyof typeof empty, string>>
function problemsOf({ current, next, again }: typeof empty): Problems {
  return {
    ...(current === '' && { current: 'Type the password that you signed in with.' }),
    ...(next === '' && { next: 'Type a new password.' }),
    ...(next !== '' && again !== next && { again: 'The two new passwords differ. Type the same one twice.' }),
  }
}

/** Sends the change, and returns a sentence on other sessions and keys that ended. */
async function change({ current, next }: typeof empty, endsKeys: boolean): Promise<string | undefined> {
  const body = { current_password: current, new_password: next, ...(endsKeys && { revoke_api_keys: true }) }
  const done = await call('POST /v1/admin/users/password', { body })
  await queryClient.invalidateQueries({ queryKey: [sessionsRoute] })
  const ended = [
    done.sessions_terminated > 0 && formatCount(done.sessions_terminated, 'other session'),
    done.api_keys_revoked > 0 && formatCount(done.api_keys_revoked, 'API key'),
  ].filter((part) => part !== false)
  return ended.length === 0 ? undefined : `Ended: ${ended.join(', ')}`
}

/** Moves the focus to the first invalid field, after the errors were rendered. */
const focusWrong = (form: HTMLFormElement | null) => form?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
