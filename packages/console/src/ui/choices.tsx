import { type ReactNode, useId } from 'react'
import { FieldError } from './field.tsx'

type CheckboxProps = {
  label: ReactNode
  help?: ReactNode
  value: boolean
  onChange: (value: boolean) => void
  offReason?: string | undefined
}

/** @example <CheckboxField label="Approve each new device" help="It waits until then." value={isOn} onChange={setIsOn} /> */
export function CheckboxField({ label, help, value, onChange, offReason }: CheckboxProps) {
  const id = useId()
  const text = offReason ?? help
  return (
    <label className="choice">
      <input
        type="checkbox"
        checked={value}
        disabled={offReason !== undefined}
        aria-labelledby={`${id}-label`}
        aria-describedby={text === undefined ? undefined : `${id}-help`}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span id={`${id}-label`}>{label}</span>
      {text !== undefined && <small id={`${id}-help`}>{text}</small>}
    </label>
  )
}

type RadioProps<V extends string> = {
  label: string
  options: readonly { value: V; label: ReactNode; help?: ReactNode; offReason?: string | undefined }[]
  value: V | undefined
  onChange: (value: V) => void
  error?: string | undefined
}

/** @example <RadioGroup label="Access" options={kinds} value={kind} onChange={setKind} /> */
export function RadioGroup<V extends string>({ label, options, value, onChange, error }: RadioProps<V>) {
  const name = useId()
  return (
    <fieldset className="f choices" aria-describedby={error === undefined ? undefined : `${name}-err`}>
      <legend className="lab">{label}</legend>
      {options.map((option) => {
        const text = option.offReason ?? option.help
        const id = `${name}-${option.value}`
        return (
          <label key={option.value} className="choice">
            <input
              type="radio"
              name={name}
              checked={option.value === value}
              disabled={option.offReason !== undefined}
              aria-invalid={error !== undefined || undefined}
              aria-labelledby={`${id}-label`}
              aria-describedby={text === undefined ? undefined : `${id}-help`}
              onChange={() => onChange(option.value)}
            />
            <span id={`${id}-label`}>{option.label}</span>
            {text !== undefined && <small id={`${id}-help`}>{text}</small>}
          </label>
        )
      })}
      {error !== undefined && <FieldError id={`${name}-err`} text={error} />}
    </fieldset>
  )
}
