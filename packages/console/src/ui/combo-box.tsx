import { Suspense } from 'react'
import type { ComboBoxProps } from './combo-box-field.tsx'
import { Field } from './field.tsx'
import { lazily } from './lazy.tsx'

const box = lazily(() => import('./combo-box-field.tsx').then((module) => module.ComboBoxField))

/**
 * Chooses one of many users, groups or gateways by typing. Its module is loaded at first use.
 *
 * @example <ComboBox label="User" value={user} onChange={setUser} search={searchUsers} />
 */
export const ComboBox = (props: ComboBoxProps) => (
  <Suspense fallback={<Waiting {...props} />}>
    <box.Component {...props} />
  </Suspense>
)

/** Field in its final size, shown until the module is loaded. */
const Waiting = ({ label, help, optional, placeholder, value }: ComboBoxProps) => (
  <Field label={label} help={help} optional={optional}>
    {(wiring) => (
      <input {...wiring} className="in-t" readOnly aria-busy placeholder={placeholder} value={value?.label ?? ''} />
    )}
  </Field>
)
