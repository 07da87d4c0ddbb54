import { type ReactNode, useState } from 'react'
import { TextArea } from '../../ui/fields.tsx'

type Props = {
  label: string
  help?: ReactNode
  optional: boolean
  error: string | undefined
  value: unknown
  onChange: (value: unknown) => void
}

/** Value of any shape, as JSON. */
export function JsonField({ value, onChange, error, ...field }: Props) {
  const [text, setText] = useState(() => (value === undefined ? '' : JSON.stringify(value, null, 2)))
  const [problem, setProblem] = useState<string>()
  const change = (next: string) => {
    setText(next)
    setProblem(undefined)
    if (next.trim() === '') return onChange(undefined)
    try {
      onChange(JSON.parse(next))
    } catch {
      setProblem('This is not valid JSON yet, for example {"disk.encrypted": true}.')
    }
  }
  return <TextArea {...field} isMono rows={3} error={problem ?? error} value={text} onChange={change} />
}
