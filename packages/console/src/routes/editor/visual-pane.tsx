import { findNodeAtLocation } from 'jsonc-parser'
import { useId, useState } from 'react'
import type { Names } from '../../editor/complete.ts'
import { moveIn, type Parsed, pathOf } from '../../editor/document.ts'
import { useNavigation, useSearch } from '../../navigation.ts'
import type { Document } from '../../policy/difference.ts'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/fields.tsx'
import { Note } from '../../ui/note.tsx'
import { TabPanel, Tabs } from '../../ui/tabs.tsx'
import { applyEntry, copyRule, type Edit, entriesOf, hasEntry, isEditable, removeEntry, rulesOf } from './changes.ts'
import { EntriesPane } from './entries-pane.tsx'
import { type Edited, EntrySheet } from './entry-sheet.tsx'
import { type EditedPart, editedParts, partWords } from './field-words.ts'
import { RulesPane } from './rules-pane.tsx'
import type { Validation } from './validation.ts'

type Props = {
  parsed: Parsed
  validation: Validation
  names: Names
  changed: ReadonlyMap<string, 'new' | 'changed'>
  isReadOnly: boolean
  onEdit: Edit
  onShow: (offset: number) => void
}

/** Tabs of the parts of a draft, each as a list whose entries open as a form. */
export function VisualPane({ parsed, validation, names, changed, isReadOnly, onEdit, onShow }: Props) {
  const { tab } = useSearch()
  const { change } = useNavigation()
  const panelId = useId()
  const part = editedParts.find((one) => one === tab) ?? 'rules'
  const [edited, setEdited] = useState<Edited>()
  const [filter, setFilter] = useState('')
  // The last text that could be read stays shown while the person types.
  const [shown, setShown] = useState(parsed)
  if (parsed.document && shown !== parsed) setShown(parsed)
  const { document, tree } = shown
  const isBroken = parsed.document === undefined
  if (!document)
    return (
      <div className="ed-rules">
        <Note kind="warn" title="The text is not valid JSON.">
          The rules are shown once the problems below are corrected.
        </Note>
      </div>
    )
  const entries = entriesOf(document, part)
  const words = partWords[part]
  const apply = (next: Edited, name: string) => {
    const isApplied = onEdit((text, now) =>
      edited && hasEntry(now, edited) ? applyEntry(text, now, next, name) : undefined,
    )
    if (isApplied) setEdited(undefined)
  }
  /** Changes an entry if the newest text still has it as it is shown. */
  const onEntry = (key: string | number, work: (text: string, now: Document) => string) => {
    const value = entries.find((entry) => entry.key === key)?.value
    onEdit((text, now) => (hasEntry(now, { part, key, value }) ? work(text, now) : undefined))
  }
  const off = offReasonOf(document, part, isReadOnly, isBroken)
  const add = () => setEdited({ part, key: undefined, value: firstValue(part, entries.length) })
  const tests = validation.answer?.tests?.results
  return (
    <div className="ed-rules">
      <Tabs
        label="Parts of the policy"
        panelId={panelId}
        options={editedParts.map((one) => ({
          value: one,
          label: partWords[one].tab,
          ...(one !== 'settings' && { count: entriesOf(document, one).length }),
        }))}
        value={part}
        onChange={(next) => {
          setFilter('')
          change({ tab: next === 'rules' ? undefined : next }, { replace: true })
        }}
      />
      <TabPanel id={panelId} value={part} className="stack">
        {isBroken && (
          <Note kind="warn" title="The text is not valid JSON." role="status">
            This is its last valid state.
          </Note>
        )}
        <div className="row between addline">
          {part === 'settings' ? (
            <span className="soft">Settings of the tunnel and of DNS.</span>
          ) : (
            <TextField
              label={`Filter ${words.tab.toLowerCase()}`}
              autoComplete="off"
              value={filter}
              onChange={setFilter}
            />
          )}
          <Button
            icon={part === 'settings' ? 'edit' : 'plus'}
            offReason={off}
            onClick={part === 'settings' ? () => setEdited({ part, key: 0, value: document.settings ?? {} }) : add}
          >
            {words.add}
          </Button>
        </div>
        {part === 'rules' ? (
          <RulesPane
            rules={rulesOf(document)}
            filter={filter}
            changed={changed}
            wrong={wrongRules(validation)}
            offReason={off}
            onEdit={(place) => setEdited({ part, key: place, value: rulesOf(document)[place] })}
            onMove={(from, to) => onEntry(from, (text) => moveIn(text, 'rules', from, to))}
            onCopy={(place) => onEntry(place, (text, now) => copyRule(text, now, place))}
            onRemove={(place) => onEntry(place, (text) => removeEntry(text, 'rules', place))}
            onShow={(place) => onShow((tree && findNodeAtLocation(tree, ['rules', place])?.offset) ?? 0)}
          />
        ) : (
          <EntriesPane
            part={part}
            entries={entries}
            filter={filter}
            passed={part === 'tests' && tests ? new Map(tests.map(({ name, passed }) => [name, passed])) : undefined}
            offReason={off}
            onEdit={({ key, value }) =>
              setEdited(part === 'settings' ? { part, key: 0, value: document.settings } : { part, key, value })
            }
            onRemove={({ key }) => onEntry(key, (text) => removeEntry(text, part, key))}
          />
        )}
      </TabPanel>
      {edited && (
        <EntrySheet
          edited={edited}
          taken={entriesOf(document, edited.part).map(({ name }) => name)}
          names={names}
          problems={validation.problems}
          offReason={off}
          onApply={apply}
          onClose={() => setEdited(undefined)}
        />
      )}
    </div>
  )
}

/** Reason why the forms of a part cannot change it, or undefined. */
function offReasonOf(document: Document, part: EditedPart, isReadOnly: boolean, isBroken: boolean): string | undefined {
  if (isReadOnly) return 'Needs the permission policy:write.'
  if (isBroken) return 'Correct the JSON first.'
  return isEditable(document, part) ? undefined : `Correct the JSON first: "${part}" has a wrong type.`
}

/** Value that the form of a new entry begins with. */
function firstValue(part: EditedPart, count: number): unknown {
  if (part === 'rules') return { id: `rule-${count + 1}`, action: 'allow', from: {}, to: [] }
  if (part === 'tests') return { name: `test ${count + 1}`, from: {} }
  return part === 'hosts' ? '' : {}
}

/** Places of the rules that have a problem. */
const wrongRules = ({ problems }: Validation): ReadonlySet<number> =>
  new Set(
    problems.flatMap(({ field }) => {
      const [part, place] = pathOf(field)
      return part === 'rules' && typeof place === 'number' ? [place] : []
    }),
  )
