import {
  acceptCompletion,
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  completionKeymap,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { json } from '@codemirror/lang-json'
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from '@codemirror/language'
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint'
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search'
import { EditorState } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import type { Completion } from './complete.ts'
import type { Problem } from './document.ts'

type Options = {
  label: string
  isReadOnly: boolean
  onChange: (text: string) => void
  complete: (text: string, offset: number) => Promise<Completion | undefined>
  fixOf: (problem: Problem) => { label: string; apply: () => unknown } | undefined
}
export type EditorHandle = {
  setText: (text: string) => void
  setProblems: (problems: readonly Problem[]) => void
  /** Moves the cursor to a place, and scrolls there. */
  show: (offset: number) => void
  end: () => void
}

/** Colours from the tokens of the console: custom properties reach into a shadow root. */
const theme = EditorView.theme({
  '&': { height: '100%', fontSize: 'var(--text-xs)', background: 'var(--surface-2)', color: 'var(--ink)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--font-mono)', lineHeight: '1.55', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--ink)', padding: '0.5rem 0' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { background: 'var(--surface-2)', color: 'var(--faint)', border: '0' },
  '.cm-activeLine, .cm-activeLineGutter': { background: 'var(--surface-3)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    background: 'var(--accent-bg)',
  },
  '.cm-tooltip': {
    background: 'var(--raised)',
    color: 'var(--ink)',
    border: '1px solid var(--line-strong)',
    borderRadius: '6px',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { background: 'var(--accent-bg)', color: 'var(--ink)' },
  '.cm-completionInfo': { maxWidth: '24rem', fontFamily: 'var(--font-sans)' },
  '.cm-diagnostic': { fontFamily: 'var(--font-sans)', padding: '0.25rem 0.5rem' },
  '.cm-diagnosticAction': { background: 'var(--accent)', color: 'var(--on-accent)', borderRadius: '4px' },
  // The marks of the library are images with a data: address, which the policy of the page refuses.
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad-mark)' },
  '.cm-lintRange-warning': { backgroundImage: 'none', textDecoration: 'underline wavy var(--warn-mark)' },
  '.cm-lint-marker': { content: 'none', width: '0.5rem', height: '0.5rem', borderRadius: '50%', marginTop: '0.375rem' },
  '.cm-lint-marker-error': { content: '""', background: 'var(--bad-mark)', borderRadius: '1px' },
  '.cm-lint-marker-warning': { content: '""', background: 'var(--warn-mark)' },
  '.cm-panels': { background: 'var(--surface)', color: 'var(--ink)', borderColor: 'var(--line)' },
  '.cm-textfield, .cm-button': {
    background: 'var(--surface)',
    color: 'var(--ink)',
    border: '1px solid var(--line-control)',
    backgroundImage: 'none',
    borderRadius: '4px',
  },
})
const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--accent)' },
  { tag: tags.string, color: 'var(--ok-ink)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn-ink)' },
])

/** Makes the view inside a shadow root. */
export function createView(root: ShadowRoot, { label, isReadOnly, onChange, complete, fixOf }: Options): EditorHandle {
  let isOwn = false
  const source = async (context: CompletionContext): Promise<CompletionResult | null> => {
    const before = context.matchBefore(/"[^"\n]*|\w+/)
    if (!before && !context.explicit) return null
    const found = await complete(context.state.doc.toString(), context.pos)
    if (!found) return null
    return {
      from: found.from,
      to: found.to,
      // The options fit the typed text already.
      filter: false,
      options: found.options.map(({ label: text, insert, kind, info }) => ({
        label: text,
        type: kind === 'field' ? 'property' : kind === 'value' ? 'enum' : 'text',
        apply: (view, _, from) => {
          const end = Math.max(found.to + (view.state.selection.main.head - context.pos), from)
          view.dispatch({ changes: { from, to: end, insert }, selection: { anchor: from + insert.length } })
        },
        ...(info !== undefined && { info }),
      })),
    }
  }
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        drawSelection(),
        indentUnit.of('  '),
        indentOnInput(),
        bracketMatching(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        autocompletion({ override: [source], icons: false }),
        json(),
        syntaxHighlighting(colours),
        theme,
        EditorView.lineWrapping,
        EditorState.readOnly.of(isReadOnly),
        EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false' }),
        // Tab leaves the editor, so that the keyboard can go on; with an open list it takes the option.
        keymap.of([
          { key: 'Tab', run: acceptCompletion },
          ...defaultKeymap,
          ...searchKeymap,
          ...historyKeymap,
          ...completionKeymap,
          ...lintKeymap,
        ]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !isOwn) onChange(update.state.doc.toString())
        }),
      ],
    }),
  })
  // A region that scrolls must be reachable by keyboard.
  view.scrollDOM.tabIndex = 0
  return {
    setText: (text) => {
      const now = view.state.doc.toString()
      if (now === text) return
      isOwn = true
      view.dispatch({ changes: changeOf(now, text) })
      isOwn = false
    },
    setProblems: (problems) => {
      const { length } = view.state.doc
      const shown = problems.map((problem): Diagnostic => {
        const fix = fixOf(problem)
        return {
          from: Math.min(problem.from, length),
          to: Math.min(problem.to, length),
          severity: problem.severity,
          message: problem.message,
          ...(fix && { actions: [{ name: fix.label, apply: fix.apply }] }),
        }
      })
      view.dispatch(setDiagnostics(view.state, shown))
    },
    show: (offset) => {
      const anchor = Math.min(offset, view.state.doc.length)
      view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: 'center' }) })
    },
    end: () => view.destroy(),
  }
}

/** The smallest change between two texts, so that the cursor and the scroll position stay. */
function changeOf(before: string, after: string): { from: number; to: number; insert: string } {
  const most = Math.min(before.length, after.length)
  let from = 0
  while (from < most && before[from] === after[from]) from++
  let same = 0
  while (same < most - from && before[before.length - 1 - same] === after[after.length - 1 - same]) same++
  return { from, to: before.length - same, insert: after.slice(from, after.length - same) }
}
