import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useMe } from '../../api/me.ts'
import { goToSignIn } from '../../api/sign-in.ts'
import { withStepUp } from '../../api/step-up.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/fields.tsx'
import { errorOf, FieldErrors } from '../../ui/problem.tsx'
import { fieldSentence, hasFieldErrors } from './field-sentence.ts'

const fields = ['current_password', 'code', 'recovery_code']
/** True for a recovery code, which has 32 hexadecimal digits. Spaces and hyphens do not count. */
const isRecoveryCode = (text: string) => /[a-f]/i.test(text) || text.replace(/[\s-]/g, '').length > 8

/**
 * Turns off the caller's second factor, with the password and a code. All sessions of the person end, including this
 * one.
 */
export function DisableFactor({ hasPassword, onClose }: { hasPassword: boolean; onClose: () => void }) {
  const { user } = useMe()
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [error, setError] = useState<Error | null>(null)
  const send = async () => {
    setError(null)
    const shown = isRecoveryCode(code) ? { recovery_code: code } : code === '' ? {} : { code }
    const body = { user_id: user?.user_id ?? '', ...(hasPassword && { current_password: password }), ...shown }
    try {
      await withStepUp(() => call('POST /v1/admin/users/totp/disable', { body }))
      goToSignIn()
    } catch (e) {
      setError(e as Error)
    }
  }
  return (
    <Dialog
      title="Turn off your second factor?"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Keep second factor</Button>
          <Button kind="danger-solid" busyLabel="Turning off…" onClick={send}>
            Turn off second factor
          </Button>
        </>
      }
    >
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void send()
        }}
      >
        <p>
          Your password alone then opens this account. All your sessions end, including this one. Your recovery codes
          stop working.
        </p>
        {hasPassword && (
          <TextField
            {...{ label: 'Your password', type: 'password', autoComplete: 'current-password', maxLength: 1024 }}
            value={password}
            onChange={setPassword}
            error={fieldSentence('The password', errorOf(error, 'current_password'))}
          />
        )}
        <TextField
          {...{ label: 'Code from the app, or a recovery code', autoComplete: 'one-time-code', maxLength: 64 }}
          value={code}
          onChange={setCode}
          error={fieldSentence('The code', errorOf(error, 'code') ?? errorOf(error, 'recovery_code'))}
        />
        <FieldErrors error={error} fields={fields} />
        {error && !hasFieldErrors(error) && <ChangeProblem error={error} />}
      </form>
    </Dialog>
  )
}
