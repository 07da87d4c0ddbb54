import { useState } from 'react'
import { messageOf } from '../api/api-error.ts'
import { call } from '../api/client.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/fields.tsx'
import { errorOf } from '../ui/problem.tsx'

/** Asks for a fresh one-time code, which some changes require. */
export function StepUpDialog({ onDone }: { onDone: (isDone: boolean) => void }) {
  const [code, setCode] = useState('')
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const send = async () => {
    if (code.replace(/\D/g, '').length !== 6) return setError('The code has six digits, for example 123 456.')
    setBusy(true)
    try {
      await call('POST /v1/admin/auth/step-up', { body: { code } })
      onDone(true)
    } catch (e) {
      const said = errorOf(e as Error, 'code')
      setError(said === undefined ? messageOf(e) : `The code ${said}.`)
      setBusy(false)
    }
  }
  return (
    <Dialog
      title="Confirm with a one-time code"
      onClose={() => onDone(false)}
      footer={
        <>
          <Button onClick={() => onDone(false)}>Cancel</Button>
          <Button kind="primary" busyLabel="Checking…" isBusy={isBusy} onClick={send}>
            Confirm
          </Button>
        </>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void send()
        }}
      >
        <TextField
          label="Code from your authenticator app"
          help="Your tenant requires it before this kind of change. It is valid for 5 minutes."
          value={code}
          onChange={setCode}
          inputMode="numeric"
          autoComplete="one-time-code"
          maxLength={32}
          {...(error !== undefined && { error })}
        />
      </form>
    </Dialog>
  )
}
