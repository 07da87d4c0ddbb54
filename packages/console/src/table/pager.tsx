import { Button } from '../ui/button.tsx'
import type { ListState } from './list-state.ts'

type Props = { state: Pick<ListState, 'cursor' | 'toNext' | 'toPrevious'>; nextCursor: string | null }

/** Buttons for the other pages of a list. */
export const Pager = ({ state, nextCursor }: Props) => (
  <span className="btngroup">
    <Button
      size="sm"
      onClick={state.toPrevious}
      {...(state.cursor === undefined && { offReason: 'This is the first page.' })}
    >
      Previous
    </Button>
    <Button
      size="sm"
      onClick={() => nextCursor && state.toNext(nextCursor)}
      {...(!nextCursor && { offReason: 'This is the last page.' })}
    >
      Next
    </Button>
  </span>
)
