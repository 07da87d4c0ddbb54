import { type ReactNode, useId, useState } from 'react'
import { Button } from './button.tsx'
import { CopyButton } from './copy.tsx'
import { formatNumber } from './format.ts'
import { Icon, type IconName } from './icon.tsx'
import { Modal } from './overlay.tsx'
import { useDraft } from './use-draft.ts'

type ConfirmProps = {
  /** Question with number and kind: `Revoke 38 devices for good?` */
  title: string
  /** Origin of the objects, and a statement whether the change can be undone. */
  lede?: ReactNode
  /** First names, and the number of further ones. */
  objects: { names: readonly ReactNode[]; more?: number | undefined }
  /** Effects, as plain sentences. */
  effects: readonly { icon: IconName; text: string }[]
  reason?: 'optional' | 'required' | undefined
  /** Number or name that the person must type first. For more than 25 objects and for changes of trust. */
  typed?: string | undefined
  /** Reason why the change cannot be made now. */
  offReason?: string | undefined
  keepLabel: string
  deedLabel: string
  busyLabel: string
  /** Further fields, for example a duration. */
  children?: ReactNode
  /** Failure of the last attempt. */
  problem?: ReactNode
  /** Equivalent `holdfast` command line. */
  command?: string | undefined
  danger?: boolean | undefined
  /** Makes the change. The dialog stays open until the caller closes it. */
  onConfirm: (reason: string | undefined) => unknown
  onClose: () => void
}

/**
 * Asks before a dangerous action. The focus is on the safe button.
 *
 * @example <Confirm title="End 3 sessions?" keepLabel="Keep sessions" deedLabel="End 3 sessions" … />
 */
export function Confirm(props: ConfirmProps) {
  const { title, lede, objects, effects, reason, typed, keepLabel, deedLabel, busyLabel, command } = props
  const { danger = true } = props
  const [why, setWhy] = useDraft(`reason ${title}`, '')
  const [text, setText] = useState('')
  const offReason =
    props.offReason ?? offReasonOf({ typed, text, isReasonMissing: reason === 'required' && why.trim() === '' })
  const footer = (
    <>
      {command !== undefined && <CopyButton kind="ghost" text={command} label="Copy as command" />}
      <span className="grow" />
      <Button autoFocus onClick={props.onClose}>
        {keepLabel}
      </Button>
      <Button
        kind={danger ? 'danger-solid' : 'primary'}
        offReason={offReason}
        busyLabel={busyLabel}
        onClick={() => props.onConfirm(why.trim() || undefined)}
      >
        {deedLabel}
      </Button>
    </>
  )
  return (
    <Modal place="center" look="dialog" role="alertdialog" title={title} onClose={props.onClose} footer={footer}>
      {lede !== undefined && <p className="soft">{lede}</p>}
      <Objects {...objects} />
      <Effects effects={effects} />
      {props.children}
      {reason && <Reason isOptional={reason === 'optional'} value={why} onChange={setWhy} />}
      {typed !== undefined && <Typed typed={typed} value={text} onChange={setText} />}
      {props.problem}
    </Modal>
  )
}

type Judged = { typed: string | undefined; text: string; isReasonMissing: boolean }
function offReasonOf({ typed, text, isReasonMissing }: Judged): string | undefined {
  if (isReasonMissing) return 'Enter a reason first.'
  if (typed !== undefined && text.trim() !== typed) return `Type ${typed} first.`
  return undefined
}

const Objects = ({ names, more = 0 }: ConfirmProps['objects']) =>
  names.length > 0 && (
    <ul className="objects">
      {names.map((name, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the list does not change while the question is open
        <li key={place}>{name}</li>
      ))}
      {more > 0 && <li className="more">and {formatNumber(more)} more</li>}
    </ul>
  )

const Effects = ({ effects }: Pick<ConfirmProps, 'effects'>) =>
  effects.length > 0 && (
    <ul className="effects">
      {effects.map(({ icon, text }) => (
        <li key={text}>
          <Icon name={icon} />
          <span>{text}</span>
        </li>
      ))}
    </ul>
  )

type InputProps = { value: string; onChange: (value: string) => void }

function Reason({ isOptional, value, onChange }: InputProps & { isOptional: boolean }) {
  const id = useId()
  return (
    <div className="f">
      <label htmlFor={id}>
        Reason{' '}
        <span className="opt">{isOptional ? 'optional, recorded in the audit log' : 'recorded in the audit log'}</span>
      </label>
      <input className="in-t" id={id} value={value} maxLength={500} onChange={(e) => onChange(e.target.value)} />
    </div>
  )
}

function Typed({ typed, value, onChange }: InputProps & { typed: string }) {
  const id = useId()
  const isNumber = /^\d+$/.test(typed)
  return (
    <div className="f">
      <label htmlFor={id}>
        Type <code>{typed}</code> to confirm
      </label>
      <input
        className="in-t"
        id={id}
        value={value}
        autoComplete="off"
        spellCheck={false}
        inputMode={isNumber ? 'numeric' : 'text'}
        aria-describedby={`${id}-help`}
        onChange={(e) => onChange(e.target.value)}
      />
      <span className="help" id={`${id}-help`}>
        {isNumber
          ? 'A typed number prevents a change of many objects by mistake.'
          : 'A typed name prevents a change of the wrong object.'}
      </span>
    </div>
  )
}
