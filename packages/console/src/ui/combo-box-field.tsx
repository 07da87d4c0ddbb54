import './rac-styles.ts'
import { type ReactNode, useEffect, useState } from 'react'
import { ComboBox, Input, Label, ListBox, ListBoxItem, Popover, Text } from 'react-aria-components'
import { FieldError } from './field.tsx'
import { useOverlayElement } from './overlay.tsx'

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

const waitMs = 200

/** Returns the options for a text, once the field is used. Keeps the last ones while the next search runs. */
function useOptions(text: string, search: ComboBoxProps['search'], isUsed: boolean) {
  const [found, setFound] = useState<{ options: readonly ComboOption[]; state: 'busy' | 'done' | 'failed' }>({
    options: [],
    state: 'busy',
  })
  useEffect(() => {
    if (!isUsed) return
    const controller = new AbortController()
    const { signal } = controller
    const run = async () => {
      setFound(({ options }) => ({ options, state: 'busy' }))
      const options = await search(text, signal).catch(() => undefined)
      if (!signal.aborted) setFound(options ? { options, state: 'done' } : { options: [], state: 'failed' })
    }
    const timer = setTimeout(run, waitMs)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [text, search, isUsed])
  return found
}
const emptyTexts = {
  busy: 'Searching…',
  done: 'Nothing matches.',
  failed: 'The search failed. Type again to repeat it.',
}

/** Field of a `ComboBox`, loaded as its own module. */
export function ComboBoxField(props: ComboBoxProps) {
  const { label, help, error, optional = false, placeholder, value, onChange, search } = props
  const portal = useOverlayElement()
  const [text, setText] = useState(value?.label ?? '')
  const [isUsed, setUsed] = useState(false)
  // The name of a value from the address arrives later than the field.
  const [shown, setShown] = useState(value?.label)
  if (shown !== value?.label) {
    setShown(value?.label)
    setText(value?.label ?? '')
  }
  // The label of the chosen option is no search text: opening the list again shows all options.
  const { options, state } = useOptions(text === value?.label ? '' : text, search, isUsed)
  const choose = (id: string | number | null) => {
    const chosen = options.find((option) => option.id === id)
    onChange(chosen)
    setText(chosen?.label ?? '')
  }
  return (
    <ComboBox
      className="f"
      items={options}
      inputValue={text}
      onInputChange={setText}
      value={value?.id ?? null}
      onChange={choose}
      isInvalid={error !== undefined}
      onFocus={() => setUsed(true)}
      menuTrigger="focus"
      allowsEmptyCollection
    >
      <Label>
        {label} {optional && <span className="opt">optional</span>}
      </Label>
      <Input className="in-t" {...(placeholder !== undefined && { placeholder })} />
      {error !== undefined && (
        <Text slot="errorMessage">
          <FieldError text={error} />
        </Text>
      )}
      {help !== undefined && (
        <Text slot="description" className="help">
          {help}
        </Text>
      )}
      <Popover className="popover" offset={4} {...(portal && { UNSTABLE_portalContainer: portal })}>
        <ListBox<ComboOption>
          className="menu"
          renderEmptyState={() => <span className="cap">{emptyTexts[state]}</span>}
        >
          {(option) => (
            <ListBoxItem id={option.id} textValue={option.label}>
              <span>{option.label}</span>
              {option.sub !== undefined && <span className="soft xs">{option.sub}</span>}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </ComboBox>
  )
}
