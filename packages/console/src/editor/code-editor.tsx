import { useEffect, useRef, useState } from 'react'
import { useStable } from '../ui/use-stable.ts'
import { createView, type EditorHandle } from './code-view.ts'
import type { Completion } from './complete.ts'
import type { Problem } from './document.ts'
import './editor.css'

type Props = {
  label: string
  text: string
  problems: readonly Problem[]
  isReadOnly: boolean
  onChange: (text: string) => void
  complete: (text: string, offset: number) => Promise<Completion | undefined>
  /** Change that mends a problem, if one is known. */
  fixOf: (problem: Problem) => { label: string; apply: () => unknown } | undefined
  /** Place to show, for example that of a problem; a new object scrolls again. */
  place: { from: number } | undefined
}

/**
 * Editor for the text of a policy. It lives in a shadow root, since its styles are made by its script: there they are
 * constructed style sheets, which the content security policy allows.
 */
export function CodeEditor({ label, text, problems, isReadOnly, onChange, complete, fixOf, place }: Props) {
  const host = useRef<HTMLDivElement>(null)
  const [editor, setEditor] = useState<EditorHandle>()
  const change = useStable(onChange)
  const completion = useStable(complete)
  const fix = useStable(fixOf)
  useEffect(() => {
    if (!host.current) return
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: 'open' })
    const made = createView(root, { label, isReadOnly, onChange: change, complete: completion, fixOf: fix })
    setEditor(made)
    return () => {
      made.end()
      setEditor(undefined)
    }
  }, [label, isReadOnly, change, completion, fix])
  useEffect(() => editor?.setText(text), [editor, text])
  useEffect(() => editor?.setProblems(problems), [editor, problems])
  useEffect(() => {
    if (place) editor?.show(place.from)
  }, [editor, place])
  return <div className="code-editor" ref={host} />
}
