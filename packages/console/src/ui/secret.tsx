import { type ReactNode, useId, useState } from 'react'
import { Button } from './button.tsx'
import { CheckboxField } from './choices.tsx'
import { CopyIcon } from './copy.tsx'
import { Note } from './note.tsx'
import { Sheet } from './sheet.tsx'

type OneTimeSecretProps = {
  /** Kind and owner: `API key of ci-deploy`. */
  title: string
  /** Kind of the secret in a sentence: `API key`. */
  what: string
  secret: string
  /** Instructions for its use. */
  usage?: ReactNode
  /** Steps after the secret is lost. */
  ifLost: string
  onClose: () => void
}

/**
 * Shows a secret that the server does not return again. Closing the sheet removes it from the page.
 *
 * @example <OneTimeSecret title="API key of ci" what="API key" secret={key} ifLost="Rotate it." onClose={forget} />
 */
export function OneTimeSecret({ title, what, secret, usage, ifLost, onClose }: OneTimeSecretProps) {
  const [isStored, setIsStored] = useState(false)
  const labelId = useId()
  const footer = (
    <>
      <span className="grow" />
      <Button kind="primary" offReason={isStored ? undefined : 'Tick that you have stored it first.'} onClick={onClose}>
        Done
      </Button>
    </>
  )
  return (
    <Sheet title={title} onClose={onClose} isHeld={!isStored && 'secret'} footer={footer}>
      <Note kind="warn" icon="lock" title={`The ${what} is shown only now.`}>
        {`Holdfast stores only a hash of it. If you lose it: ${ifLost}`}
      </Note>
      <div className="f">
        <span className="lab" id={labelId}>
          {what.charAt(0).toUpperCase() + what.slice(1)}
        </span>
        <fieldset className="secret" aria-labelledby={labelId}>
          <code>{secret}</code>
          <CopyIcon text={secret} label={`Copy ${what}`} />
        </fieldset>
        {usage !== undefined && <span className="help">{usage}</span>}
      </div>
      <CheckboxField label={`I have stored the ${what}`} value={isStored} onChange={setIsStored} />
    </Sheet>
  )
}
