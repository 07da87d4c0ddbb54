import { BeforeAfter } from './before-after.tsx'
import { Button } from './button.tsx'
import { Note } from './note.tsx'

type Change = { field: string; before: string; after: string }
type Props = {
  /** Noun of the object: `device`. */
  noun: string
  /** Stored values from another person's change, and the values of the form. */
  changes: readonly Change[]
  /** Takes the stored values into the form. */
  onTake: () => void
}

/**
 * Says that another person has changed the object while its form was open, and shows the fields that differ.
 *
 * @example {isStale && <Overtaken noun="device" changes={changes} onTake={reset} />}
 */
export const Overtaken = ({ noun, changes, onTake }: Props) => (
  <Note
    kind="warn"
    role="alert"
    title={`Somebody else has changed this ${noun} in the meantime.`}
    actions={
      <Button size="sm" onClick={onTake}>
        Take theirs
      </Button>
    }
  >
    <p>Your change was not saved. These fields differ. Their value comes first, then yours:</p>
    <BeforeAfter changes={changes.filter(({ before, after }) => before !== after)} />
  </Note>
)
