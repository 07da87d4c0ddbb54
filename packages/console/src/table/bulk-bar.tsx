import { useEffect, useState } from 'react'
import { Button } from '../ui/button.tsx'
import { formatNumber } from '../ui/format.ts'
import { IconButton } from '../ui/icon-button.tsx'
import type { Selection } from './selection.ts'
import type { BulkVerb, ListSpec } from './spec.ts'

type Props<T> = {
  spec: ListSpec<T>
  selection: Selection
  shownCount: number
  hasMore: boolean
  verbs: readonly BulkVerb[]
  /** Asks the server for the number of matches of the filter (a dry run of the same request). */
  countAll: () => Promise<number>
  onVerb: (id: string, matched: number | undefined) => void
}

/** Bar at the bottom while rows are selected. */
export function BulkBar<T>({ spec, selection, shownCount, hasMore, verbs, countAll, onVerb }: Props<T>) {
  const [matching, setMatching] = useState<number>()
  const count = selection.isAll ? matching : selection.ids.size
  const offersAll = !selection.isAll && hasMore && selection.ids.size >= shownCount
  useEffect(() => {
    if (!offersAll) return
    let isCurrent = true
    // The count of an earlier filter is not valid for this one.
    setMatching(undefined)
    countAll().then(
      (found) => isCurrent && setMatching(found),
      () => undefined,
    )
    return () => {
      isCurrent = false
    }
  }, [offersAll, countAll])
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
