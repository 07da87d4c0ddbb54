import { type KeyboardEvent, type ReactNode, useEffect, useState } from 'react'
import { Button } from './button.tsx'
import { TextField } from './fields.tsx'
import { Icon } from './icon.tsx'
import './list-field.css'

const searchAfterMs = 200

type Props = {
  label: string
  help?: ReactNode
  optional?: boolean
  error?: string | undefined
  placeholder?: string
  value: readonly string[]
  /** Values that are allowed, if the schema lists them. */
  choices?: readonly string[] | undefined
  search: (text: string) => Promise<readonly string[]>
  onChange: (value: readonly string[]) => void
}

/** List of texts: chips, and a field that adds one. Names of the tenant are suggested while the person types. */
export function ListField({ value, choices, search, onChange, ...field }: Props) {
  const [text, setText] = useState('')
  const [found, setFound] = useState<readonly string[]>([])
  const [isUsed, setUsed] = useState(false)
  useEffect(() => {
    if (!isUsed || choices) return
    const timer = setTimeout(
      () =>
        void search(text).then(setFound, () => {
          // Without suggestions the person types the name.
          setFound([])
        }),
      searchAfterMs,
    )
    return () => clearTimeout(timer)
  }, [text, isUsed, choices, search])
  const add = () => {
    const added = text.split(/[\s,]+(?=\S)/).flatMap((one) => one.trim() || [])
    const next = /[,\n]/.test(text) ? added : [text.trim()].filter(Boolean)
    if (next.length > 0) onChange([...new Set([...value, ...next])])
    setText('')
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || text.trim() === '') return
    event.preventDefault()
    add()
  }
  const suggestions = (choices ?? found).filter((name) => !value.includes(name)).slice(0, 50)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the field inside takes the key
    <div className="stack tight" onKeyDown={onKeyDown} onFocus={() => setUsed(true)}>
      <div className="row addline">
        <TextField {...field} autoComplete="off" suggestions={suggestions} value={text} onChange={setText} />
        <Button size="sm" offReason={text.trim() === '' ? 'Enter a value first.' : undefined} onClick={add}>
          Add<span className="vh"> to {field.label}</span>
        </Button>
      </div>
      {value.length > 0 && (
        <ul className="row wrap picked" aria-label={field.label}>
          {value.map((one) => (
            <li key={one} className="chip">
              <span>{one}</span>
              <button
                type="button"
                aria-label={`Remove ${one}`}
                onClick={() => onChange(value.filter((other) => other !== one))}
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
