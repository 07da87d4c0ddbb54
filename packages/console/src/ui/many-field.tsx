import { ComboBox } from './combo-box.tsx'
import type { ComboBoxProps, ComboOption } from './combo-box-field.tsx'
import { TextField } from './fields.tsx'
import { Icon } from './icon.tsx'

type Props = Pick<ComboBoxProps, 'label' | 'help' | 'error' | 'optional' | 'placeholder' | 'search'> & {
  value: readonly ComboOption[]
  onChange: (value: readonly ComboOption[]) => void
  /** Name of the chosen ones for assistive technology: `Chosen groups`. */
  chosen: string
  offReason?: string | undefined
}

/**
 * Chooses several of many users or groups by typing.
 *
 * @example <ManyField label="Groups" chosen="Chosen groups" value={groups} onChange={set} search={searchGroups} />
 */
export function ManyField({ value, onChange, chosen, offReason, ...field }: Props) {
  if (offReason !== undefined) return <TextField {...field} offReason={offReason} value="" onChange={() => undefined} />
  const add = (option: ComboOption | undefined) => {
    if (option && !value.some(({ id }) => id === option.id)) onChange([...value, option])
  }
  return (
    <div className="stack tight">
      {/* A new key empties the field after each choice. */}
      <ComboBox key={value.length} {...field} value={undefined} onChange={add} />
      {value.length > 0 && (
        <ul className="row wrap picked" aria-label={chosen}>
          {value.map(({ id, label }) => (
            <li key={id} className="chip">
              <span>{label}</span>
              <button
                type="button"
                aria-label={`Remove ${label}`}
                onClick={() => onChange(value.filter((option) => option.id !== id))}
              >
                <Icon name="x" size="s" />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
