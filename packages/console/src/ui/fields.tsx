import { type ComponentProps, type ReactNode, useId, useState } from 'react'
import { classes } from './classes.ts'
import { Field, type FieldProps } from './field.tsx'
import { parseWholeNumber } from './whole-number.ts'

type Value<V> = { value: V; onChange: (value: V) => void }
type InputProps = Pick<
  ComponentProps<'input'>,
  'type' | 'name' | 'placeholder' | 'autoComplete' | 'inputMode' | 'maxLength' | 'spellCheck' | 'required'
> & {
  isMono?: boolean | undefined
  /** Texts that the browser offers while the person types. Any other text is allowed. */
  suggestions?: readonly string[] | undefined
}

/** Returns the properties of the field, without those of its control. */
const fieldOf = ({ label, help, error, optional, offReason, look, was }: FieldProps): FieldProps => ({
  label,
  help,
  error,
  optional,
  offReason,
  look,
  was,
})

/** @example <TextField label="Name" value={name} onChange={setName} error={errorOf(error, 'name')} /> */
export function TextField(props: FieldProps & Value<string> & InputProps) {
  const { label, help, error, optional, offReason, look, was, value, onChange, isMono, suggestions, ...input } = props
  const listId = useId()
  return (
    <Field {...fieldOf(props)}>
      {(wiring) => (
        <>
          <input
            {...input}
            {...wiring}
            {...(suggestions && { list: listId })}
            className={classes('in-t', isMono && 'mono')}
            value={value}
            onChange={(event) => onChange(event.target.value)}
          />
          {suggestions && (
            <datalist id={listId}>
              {suggestions.map((text) => (
                <option key={text} value={text} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  )
}

type NumberProps = FieldProps &
  Value<number | undefined> & { unit?: string | undefined; min?: number | undefined; max?: number | undefined }

/**
 * Whole number with its unit behind it. An invalid text gives undefined and an error.
 *
 * @example <NumberField label="Lock an account after" unit="failures" min={3} value={n} onChange={setN} />
 */
export function NumberField(props: NumberProps) {
  const { value, onChange, unit, min, max, error, optional = false } = props
  const [draft, setDraft] = useState('')
  const parsed = parseWholeNumber(draft, { min, max, optional })
  const text = parsed.value === value ? draft : String(value ?? '')
  const own = text === draft && draft !== '' ? parsed.error : undefined
  const change = (next: string) => {
    setDraft(next)
    onChange(parseWholeNumber(next, { min, max, optional }).value)
  }
  return (
    <Field {...fieldOf(props)} error={error ?? own}>
      {(wiring) => {
        const input = (
          <input
            {...wiring}
            className="in-t num"
            inputMode="numeric"
            value={text}
            onChange={(event) => change(event.target.value)}
          />
        )
        if (unit === undefined) return input
        const behind = <span className="u">{unit}</span>
        return props.look === 'row' ? (
          <>
            {input}
            {behind}
          </>
        ) : (
          <span className="unit">
            {input}
            {behind}
          </span>
        )
      }}
    </Field>
  )
}

/** @example <TextArea label="Note" value={note} onChange={setNote} optional /> */
export const TextArea = (
  props: FieldProps & Value<string> & { rows?: number | undefined; isMono?: boolean | undefined },
) => (
  <Field {...fieldOf(props)}>
    {(wiring) => (
      <textarea
        {...wiring}
        className={classes('in-t', props.isMono && 'mono')}
        rows={props.rows ?? 3}
        value={props.value}
        onChange={(event) => props.onChange(event.target.value)}
      />
    )}
  </Field>
)

type Option<V extends string> = { value: V; label: string; help?: ReactNode }
type OptionsProps<V extends string> = FieldProps & Value<V> & { options: readonly Option<V>[] }

/** @example <SelectField label="Region" options={regions} value={region} onChange={setRegion} /> */
export const SelectField = <V extends string>(props: OptionsProps<V>) => (
  <Field {...fieldOf(props)}>
    {(wiring) => (
      <select
        {...wiring}
        className="in-t"
        value={props.value}
        onChange={(event) => props.onChange(event.target.value as V)}
      >
        {props.options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    )}
  </Field>
)

/** @example <SwitchField look="row" label="Require a device key" help="…" value={isOn} onChange={setIsOn} /> */
export const SwitchField = (props: FieldProps & Value<boolean>) => (
  <Field {...fieldOf(props)}>
    {(wiring) => (
      <input
        {...wiring}
        type="checkbox"
        role="switch"
        className="switch"
        checked={props.value}
        aria-checked={props.value}
        onChange={(event) => props.onChange(event.target.checked)}
      />
    )}
  </Field>
)
