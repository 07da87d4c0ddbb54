import { Button } from './button.tsx'

type Props = {
  /** Noun of the objects: `devices`. */
  many: string
  onNext: () => void
}

/**
 * Page without a match that is not the last one: the server searches a long list in parts.
 *
 * @example <SearchOn many="users" onNext={() => state.toNext(cursor)} />
 */
export const SearchOn = ({ many, onNext }: Props) => (
  <div className="blank">
    <h3>No {many} found so far</h3>
    <p>The list is long, so the server searches it in parts.</p>
    <div className="acts">
      <Button onClick={onNext}>Search the next part</Button>
    </div>
  </div>
)
