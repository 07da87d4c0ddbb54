import { Button } from '../ui/button.tsx'
import { Hint } from '../ui/kbd.tsx'
import { Timestamp } from '../ui/timestamp.tsx'
import type { ListState } from './list-state.ts'
import { Pager } from './pager.tsx'

type Props = {
  state: ListState
  /** "Newest first · rows 101–200". */
  sentence: string
  nextCursor: string | null
  /** Changes that the stream reported since the page was read. */
  stale: { count: number; since: string } | undefined
  onRefresh: () => void
  /** True if rows can be selected. */
  selects: boolean
}

/** Footer of a list: range of rows, changes since, and buttons for the other pages. */
export function ListFooter({ state, sentence, nextCursor, stale, onRefresh, selects }: Props) {
  return (
    <div className="tfoot">
      <span>{sentence}</span>
      <span aria-live="polite">
        {stale && (
          <span className="stale">
            {stale.count} {stale.count === 1 ? 'change' : 'changes'} since <Timestamp at={stale.since} as="clock" />
            <Button size="sm" kbd="Shift R" onClick={onRefresh}>
              Refresh
            </Button>
          </span>
        )}
      </span>
      <span className="push hints hide-s" aria-hidden="true">
        <Hint keys={['j', 'k']} does="move" />
        {selects && <Hint keys={['x']} does="select" />}
        <Hint keys={['Enter']} does="open" />
      </span>
      <Pager state={state} nextCursor={nextCursor} />
    </div>
  )
}
