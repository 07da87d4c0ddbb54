import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { MenuButton } from '../../ui/menu.tsx'
import { Status } from '../../ui/status.tsx'
import { type EditedPart, partWords } from './field-words.ts'
import { summaryOf } from './rule-words.ts'

const first = 200
/** Entry of a part: its key in the document, and its value. */
export type PartEntry = { key: string | number; name: string; value: unknown }

type Props = {
  part: EditedPart
  entries: readonly PartEntry[]
  filter: string
  /** Results of the tests by name, once the server has run them. */
  passed?: ReadonlyMap<string, boolean> | undefined
  /** Reason why the entries cannot be changed. */
  offReason: string | undefined
  onEdit: (entry: PartEntry) => void
  onRemove: (entry: PartEntry) => void
}

/** Entries of one part of a policy, other than its rules. */
export function EntriesPane({ part, entries, filter, passed, offReason, onEdit, onRemove }: Props) {
  const [most, setMost] = useState(first)
  const words = partWords[part]
  const text = filter.trim().toLowerCase()
  const found = entries.filter(
    ({ name, value }) => text === '' || `${name} ${JSON.stringify(value)}`.toLowerCase().includes(text),
  )
  if (entries.length === 0) return <p className="soft">No {words.tab.toLowerCase()} in this document.</p>
  if (found.length === 0) return <p className="soft">No {words.one} matches the filter.</p>
  return (
    <>
      <ul className="objects entries">
        {found.slice(0, most).map((entry) => (
          <li key={entry.key}>
            <button type="button" className="rule-open" onClick={() => onEdit(entry)}>
              <span className="vh">Edit {words.one} </span>
              <b className="strong">{entry.name}</b> <span className="soft">{summaryOf(entry.value)}</span>
            </button>
            {passed?.has(entry.name) && (
              <Status kind={passed.get(entry.name) ? 'ok' : 'bad'}>
                {passed.get(entry.name) ? 'passes' : 'fails'}
              </Status>
            )}
            <MenuButton
              label={`Actions for ${words.one} ${entry.name}`}
              items={[
                {
                  id: 'edit',
                  icon: 'edit',
                  label: offReason ? 'Show as form' : 'Edit',
                  onSelect: () => onEdit(entry),
                },
                'line',
                {
                  id: 'remove',
                  icon: 'x',
                  label: 'Remove',
                  danger: true,
                  offReason,
                  onSelect: () => onRemove(entry),
                },
              ]}
            />
          </li>
        ))}
      </ul>
      {found.length > most && (
        <Button size="sm" onClick={() => setMost(most + first)}>
          Show more
        </Button>
      )}
    </>
  )
}
