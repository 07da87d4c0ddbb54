import { type ReactNode, Suspense } from 'react'
import { Field } from './field.tsx'
import { lazily } from './lazy.tsx'

export type ComboOption = { id: string; label: string; sub?: string | undefined }
export type ComboBoxProps = {
  label: string
  help?: ReactNode
  error?: string | undefined
  optional?: boolean | undefined
  placeholder?: string | undefined
  value: ComboOption | undefined
  onChange: (value: ComboOption | undefined) => void
  /** Finds the options for a text; called 200 ms after the last key. */
  search: (text: string, signal: AbortSignal) => Promise<readonly ComboOption[]>
}
const box = lazily(() => import('./combo-box-field.tsx').then((module) => module.ComboBoxField))

/**
 * Chooses one of many people, groups or gateways by typing. Its module is loaded with the first one.
 *
 * @example <ComboBox label="User" value={user} onChange={setUser} search={searchUsers} />
 */
export const ComboBox = (props: ComboBoxProps) => (
  <Suspense fallback={<Waiting {...props} />}>
    <box.Component {...props} />
  </Suspense>
)

/** The same field in its final size, until the module is there. */
const Waiting = ({ label, help, optional, placeholder, value }: ComboBoxProps) => (
  <Field label={label} help={help} optional={optional}>
    {(wiring) => (
      <input {...wiring} className="in-t" readOnly aria-busy placeholder={placeholder} value={value?.label ?? ''} />
    )}
  </Field>
)
