import { Suspense, useState } from 'react'
import { useCan, useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { completionAt } from '../../editor/complete.ts'
import { formatText, type Problem, parseText } from '../../editor/document.ts'
import { policySchema } from '../../editor/policy-schema.ts'
import { useNavigation, useSearch } from '../../navigation.ts'
import { differencesOf } from '../../policy/difference.ts'
import { Button } from '../../ui/button.tsx'
import { lazily } from '../../ui/lazy.tsx'
import { SkeletonLines } from '../../ui/skeleton.tsx'
import { toast } from '../../ui/toast.tsx'
import { useStable } from '../../ui/use-stable.ts'
import type { Edit } from './changes.ts'
import { DraftHead } from './draft-head.tsx'
import { DraftNotes } from './draft-notes.tsx'
import type { Start } from './draft-session.ts'
import { useDraftStore } from './draft-store.ts'
import { fixOf } from './fixes.ts'
import { looks } from './looks.ts'
import { useNames } from './names.ts'
import { ProblemsBar } from './problems-bar.tsx'
import { useParsed, useValidation } from './validation.ts'
import { VisualPane } from './visual-pane.tsx'

const code = lazily(() => import('../../editor/code-editor.tsx').then((module) => module.CodeEditor))
const noDifference: ReadonlyMap<string, 'new' | 'changed'> = new Map()

/** A draft: its rules as sentences and forms, its text, and its problems. */
export function Editor({ start, onCreated }: { start: Start; onCreated: (draftId: string) => void }) {
  const can = useCan()
  const off = useOffReason()('policy:write')
  const isReadOnly = !can('policy:write')
  const { change: changeAddress, go } = useNavigation()
  const search = useSearch()
  const look = looks.find((one) => one === search.look) ?? (innerWidth < 900 ? 'rules' : 'both')
  const store = useDraftStore(start, isReadOnly, onCreated)
  const [ownText, setOwnText] = useState<string>()
  const parsed = useParsed(store.text, ownText)
  const validation = useValidation(parsed)
  const names = useNames(parsed.document)
  const [place, setPlace] = useState<{ from: number }>()
  const changed = useChanged(store.base?.bundle_id, parsed.document)
  const edit: Edit = useStable((work) => {
    // The forms may show a text that is some keys old.
    const { text, document } = parseText(store.read().text)
    const next = document && work(text, document)
    if (next === undefined) {
      toast({ kind: 'bad', title: 'Nothing was changed', text: 'The JSON has changed meanwhile. Look at it first.' })
      return false
    }
    setOwnText(next)
    store.change(next)
    return true
  })
  const fix = useStable((problem: Problem) => {
    const found = isReadOnly ? undefined : fixOf(parsed, problem)
    return found && { label: found.label, apply: () => edit((text) => fixOf(parseText(text), problem)?.text) }
  })
  const show = (from: number) => {
    if (look === 'rules') changeAddress({ look: 'both' }, { replace: true })
    setPlace({ from })
  }
  const review = async () => {
    if (await store.save()) go('/admin/policy/review', { draft: search.draft ?? '' })
  }
  const json = (
    <div className="ed-json">
      <Suspense fallback={<SkeletonLines />}>
        <code.Component
          label="Policy as JSON"
          text={store.text}
          problems={validation.problems}
          isReadOnly={isReadOnly}
          onChange={store.change}
          complete={(text, offset) => completionAt(policySchema, names, text, offset)}
          fixOf={fix}
          place={place}
        />
      </Suspense>
    </div>
  )
  return (
    <div className={`editor look-${look}`}>
      <DraftHead
        store={store}
        look={look}
        onLook={(next) => changeAddress({ look: next }, { replace: true })}
        onFormat={isReadOnly ? undefined : () => store.change(formatText(store.text))}
        review={
          <Button
            kind="primary"
            offReason={reviewReason(validation, off, search.draft, store.text)}
            busyLabel="Saving…"
            onClick={review}
          >
            Review…
          </Button>
        }
      />
      <DraftNotes store={store} draftId={search.draft} isReadOnly={isReadOnly} />
      <div className="ed-body">
        {look !== 'json' && (
          <VisualPane
            parsed={parsed}
            validation={validation}
            names={names}
            changed={changed}
            isReadOnly={isReadOnly}
            onEdit={edit}
            onShow={show}
          />
        )}
        {look !== 'rules' && json}
      </div>
      <ProblemsBar validation={validation} fixOf={fix} onShow={(problem) => show(problem.from)} />
    </div>
  )
}

/** Reason why a draft cannot be reviewed, or undefined. A reader may review a stored draft too. */
function reviewReason(
  { problems, isWaiting }: ReturnType<typeof useValidation>,
  off: string | undefined,
  draftId: string | undefined,
  text: string,
): string | undefined {
  if (draftId === undefined) return off ?? (text === '' ? 'The draft is empty.' : 'Change the draft first.')
  if (problems.some(({ severity, message }) => severity === 'error' && !message.startsWith('Test ')))
    return 'Correct the problems first.'
  return isWaiting ? 'The draft is being checked.' : undefined
}

/** Rules that the version lacks on which the draft is based, or has differently, by their id. */
function useChanged(baseId: string | undefined, document: Readonly<Record<string, unknown>> | undefined) {
  const base = useApi(
    'GET /v1/admin/policy/{bundle_id}',
    { params: { bundle_id: baseId ?? '' } },
    { enabled: baseId !== undefined },
  )
  if (!base.data || !document) return noDifference
  return new Map(
    differencesOf(base.data.policy, document)
      .filter(({ part }) => part === 'rules')
      .map(({ name, before }) => [name, before ? 'changed' : 'new'] as const),
  )
}
