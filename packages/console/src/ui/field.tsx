import { type ReactNode, useId } from 'react'
import { classes } from './classes.ts'
import { Icon } from './icon.tsx'

/** What all fields have in common. */
export type FieldProps = {
  label: ReactNode
  /** The effect of the value, not its name again. */
  help?: ReactNode
  /** What is wrong, and an example of what is right. */
  error?: string | undefined
  optional?: boolean | undefined
  /** Why the field is off; it stands in place of the help. */
  offReason?: string | undefined
  /** `row` is a row of settings: what it does at the left, the value at the right. */
  look?: 'row' | undefined
  /** In a row: the stored value, where the shown one differs from it. */
  was?: string | undefined
}
/** What the control itself takes from its field. */
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

/** The API names a field in its own words and says the rest of the sentence: `must be 1 or more`. */
const sentenceOf = (label: ReactNode, error: string): string =>
  typeof label === 'string' && /^[a-z]/.test(error) ? `${label}: ${error}${/[.?!]$/.test(error) ? '' : '.'}` : error

/** The sentence under a field that is wrong. */
export const FieldError = ({ id, text }: { id?: string | undefined; text: string }) => (
  <span className="err" id={id}>
    <Icon name="bad" />
    <span>{text}</span>
  </span>
)

/**
 * Puts the focus on the first field that is wrong.
 *
 * @example onError: () => focusFirstError(form.current)
 */
export function focusFirstError(form: HTMLElement | null): void {
  // The fields get their errors with the next drawing.
  requestAnimationFrame(() => form?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus())
}
