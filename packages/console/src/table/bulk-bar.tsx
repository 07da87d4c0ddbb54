import { useEffect, useState } from 'react'
import { ApiError, messageOf } from '../api/api-error.ts'
import { announce } from '../ui/announce.ts'
import { Button } from '../ui/button.tsx'
import { formatNumber } from '../ui/format.ts'
import { IconButton } from '../ui/icon-button.tsx'
import { sentence } from '../ui/problem.tsx'
import type { Selection } from './selection.ts'
import type { BulkVerb, ListSpec } from './spec.ts'

type Props<T> = {
  spec: ListSpec<T>
  selection: Selection
  shownCount: number
  hasMore: boolean
  verbs: readonly BulkVerb[]
  /**
   * Asks the server how many match the filter (a dry run of the same request).
   *
   * @throws Error with the reason why all that match cannot be selected
   */
  countAll: () => Promise<number>
  onVerb: (id: string, matched: number | undefined) => void
}

/** Bar at the bottom while rows are selected. */
export function BulkBar<T>({ spec, selection, shownCount, hasMore, verbs, countAll, onVerb }: Props<T>) {
  const [matching, setMatching] = useState<number>()
  const [problem, setProblem] = useState<string>()
  const count = selection.isAll ? matching : selection.ids.size
  const offersAll = !selection.isAll && hasMore && selection.ids.size >= shownCount
  useEffect(() => {
    if (!offersAll) return
    let isCurrent = true
    // The count of an earlier filter is not valid for this one.
    setMatching(undefined)
    setProblem(undefined)
    countAll().then(
      (found) => isCurrent && setMatching(found),
      (e: unknown) => isCurrent && setProblem(reasonOf(e)),
    )
    return () => {
      isCurrent = false
    }
  }, [offersAll, countAll])
  useEffect(() => {
    if (offersAll && problem !== undefined) announce(problem)
  }, [offersAll, problem])
  if (!selection.isAll && selection.ids.size === 0) return null
  return (
    <div className="bulk" role="toolbar" aria-label={`Selected ${spec.noun.many}`}>
      <span className="num" aria-live="polite">
        <b className="strong">{count === undefined ? 'All' : formatNumber(count)}</b>{' '}
        {selection.isAll ? 'that match' : 'selected'}
      </span>
      {offersAll && matching !== undefined && (
        <Button kind="ghost" size="sm" onClick={selection.selectAll}>
          Select all {formatNumber(matching)} that match
        </Button>
      )}
      {offersAll && problem !== undefined && <span className="soft xs">{problem}</span>}
      <span className="sep" />
      {verbs.map((verb) => (
        <Button
          key={verb.id}
          size="sm"
          {...(verb.danger && { kind: 'danger' as const })}
          {...(verb.offReason !== undefined && { offReason: verb.offReason })}
          onClick={() => onVerb(verb.id, selection.isAll ? matching : undefined)}
        >
          {verb.label}
        </Button>
      ))}
      <IconButton icon="x" label="Clear selection" onClick={selection.clear} />
    </div>
  )
}

/** The reason as a sentence. A missing permission has none here: the buttons say it. */
function reasonOf(e: unknown): string | undefined {
  if (!(e instanceof ApiError)) return messageOf(e)
  if (e.code === 'forbidden') return undefined
  const [wrong] = e.errors
  return wrong ? sentence(`the ${wrong.field} ${wrong.message}`) : sentence(e.detail)
}
