import { useState } from 'react'
import type { Names } from '../../editor/complete.ts'
import { fieldOf, type Problem } from '../../editor/document.ts'
import { policySchema } from '../../editor/policy-schema.ts'
import { type Path, schemaAt } from '../../editor/schema.ts'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/fields.tsx'
import { Sheet } from '../../ui/sheet.tsx'
import { type EditedPart, partWords } from './field-words.ts'
import { SchemaForm } from './schema-form.tsx'

/** Entry that the sheet edits: its part, its place, and its value. */
export type Edited = { part: EditedPart; key: string | number | undefined; value: unknown }

type Props = {
  edited: Edited
  /** Names of the entries of the part, which a new one must not have. */
  taken: readonly string[]
  names: Names
  problems: readonly Problem[]
  /** Reason why the form cannot be applied. */
  offReason: string | undefined
  onApply: (edited: Edited, name: string) => void
  onClose: () => void
}

/** Sheet that edits one entry of a policy as a form. */
export function EntrySheet({ edited, taken, names, problems, offReason, onApply, onClose }: Props) {
  const { part, key } = edited
  const isNamed = part !== 'rules' && part !== 'tests' && part !== 'settings'
  const [name, setName] = useState(typeof key === 'string' ? key : '')
  const [value, setValue] = useState(edited.value)
  const words = partWords[part]
  const at: Path = part === 'settings' ? ['settings'] : [part, key ?? 0]
  const own = schemaAt(policySchema, at) ?? {}
  const errorAt = (path: Path) =>
    key === undefined && part !== 'settings'
      ? undefined
      : problems.find(({ field }) => field === fieldOf(path))?.message
  const problem = isNamed
    ? nameProblem(
        name,
        taken.filter((other) => other !== key),
      )
    : undefined
  const isChanged = JSON.stringify(value) !== JSON.stringify(edited.value) || (isNamed && name !== (key ?? ''))
  const title =
    key === undefined ? words.add : `Edit ${part === 'settings' ? 'settings' : `${words.one} ${nameOf(edited)}`}`
  return (
    <Sheet
      title={title}
      onClose={onClose}
      isHeld={isChanged && 'typed'}
      footer={
        <>
          {offReason !== undefined && <span className="soft xs">{offReason}</span>}
          <span className="grow" />
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            offReason={offReason ?? problem ?? (isChanged ? undefined : 'There is no change to apply.')}
            onClick={() => onApply({ ...edited, value }, name)}
          >
            {key === undefined ? words.add : 'Apply'}
          </Button>
        </>
      }
    >
      {isNamed && (
        <TextField
          label="Name"
          help={key === undefined ? undefined : 'Rules and tests that use the old name change too.'}
          maxLength={64}
          autoComplete="off"
          error={name === '' ? undefined : problem}
          value={name}
          onChange={setName}
        />
      )}
      {own.type === 'string' ? (
        <TextField
          label="Address or network"
          help={own.description}
          maxLength={own.maxLength}
          autoComplete="off"
          error={errorAt(at)}
          value={typeof value === 'string' ? value : ''}
          onChange={setValue}
        />
      ) : (
        <SchemaForm schema={own} value={value} path={at} names={names} errorAt={errorAt} onChange={setValue} />
      )}
    </Sheet>
  )
}

function nameOf({ part, key, value }: Edited): string {
  if (typeof key === 'string') return key
  const { id, name } = (value ?? {}) as { id?: unknown; name?: unknown }
  return String((part === 'rules' ? id : name) ?? '')
}

function nameProblem(name: string, taken: readonly string[]): string | undefined {
  if (name === '') return 'Enter a name first.'
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name))
    return 'A name begins with a letter or digit, and has letters, digits and . _ - only.'
  return taken.includes(name) ? 'This name is used already.' : undefined
}
