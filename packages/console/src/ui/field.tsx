import { type ReactNode, useId } from 'react'
import { classes } from './classes.ts'
import { Icon } from './icon.tsx'

/** Properties that all fields share. */
export type FieldProps = {
  label: ReactNode
  /** Effect of the value, not its name again. */
  help?: ReactNode
  /** Error, and an example of a valid value. */
  error?: string | undefined
  optional?: boolean | undefined
  /** Reason why the field is off; it replaces the help. */
  offReason?: string | undefined
  /** `row` is a row of settings: description at the left, value at the right. */
  look?: 'row' | undefined
  /** In a row: the stored value, if the shown one differs from it. */
  was?: string | undefined
}
/** Attributes that the control gets from its field. */
type Wiring = {
  id: string
  disabled: boolean
  'aria-invalid': true | undefined
  'aria-describedby': string | undefined
}

/**
 * Label above, control, help and error below.
 *
 * @example <Field label="Name">{(wiring) => <input className="in-t" {...wiring} />}</Field>
 */
export function Field(props: FieldProps & { children: (wiring: Wiring) => ReactNode }) {
  const { label, help, optional = false, offReason, look, was, children } = props
  const id = useId()
  const error = props.error === undefined ? undefined : sentenceOf(label, props.error)
  const text = offReason ?? help
  const described = classes(
    (text !== undefined || was !== undefined) && `${id}-help`,
    error !== undefined && `${id}-err`,
  )
  const control = children({
    id,
    disabled: offReason !== undefined,
    'aria-invalid': error !== undefined || undefined,
    'aria-describedby': described || undefined,
  })
  const heading = (
    <label htmlFor={id}>
      {label} {optional && <span className="opt">optional</span>}
    </label>
  )
  if (look === 'row')
    return (
      <div className={classes('set', was !== undefined && 'changed')}>
        <div>
          {heading}
          <div className="help" id={`${id}-help`}>
            {text} {was !== undefined && `Was ${was}.`}
          </div>
          {error !== undefined && <FieldError id={`${id}-err`} text={error} />}
        </div>
        <div className="unit">{control}</div>
      </div>
    )
  return (
    <div className="f">
      {heading}
      {control}
      {error !== undefined && <FieldError id={`${id}-err`} text={error} />}
      {text !== undefined && (
        <span className="help" id={`${id}-help`}>
          {text}
        </span>
      )}
    </div>
  )
}

/**
 * Builds the error sentence. The API error has no subject, for example `must be 1 or more`: the label becomes the
 * subject.
 */
const sentenceOf = (label: ReactNode, error: string): string =>
  typeof label === 'string' && /^[a-z]/.test(error) ? `${label}: ${error}${/[.?!]$/.test(error) ? '' : '.'}` : error

/** Sentence under an invalid field. */
export const FieldError = ({ id, text }: { id?: string | undefined; text: string }) => (
  <span className="err" id={id}>
    <Icon name="bad" />
    <span>{text}</span>
  </span>
)

/**
 * Moves the focus to the first invalid field.
 *
 * @example onError: () => focusFirstError(form.current)
 */
export function focusFirstError(form: HTMLElement | null): void {
  // The fields show their errors after the next render.
  requestAnimationFrame(() => form?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus())
}
