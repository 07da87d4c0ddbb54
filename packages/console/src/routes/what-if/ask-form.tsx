import { type FormEvent, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { NumberField, SelectField, TextField } from '../../ui/fields.tsx'
import { Frame } from '../../ui/frame.tsx'
import type { JudgeId, Question } from './question.ts'
import { SubjectPicker } from './subject-picker.tsx'

/** Most names offered for the target. */
const mostNames = 200

type Props = {
  question: Question
  /** Names of resources and hosts. */
  names: readonly string[]
  judges: readonly { value: JudgeId; label: string }[]
  isBusy: boolean
  onAsk: (question: Question) => void
}
type Errors = { subject?: string; target?: string; at?: string }

/** Form of a question. The address keeps the asked one. */
export function AskForm({ question, names, judges, isBusy, onAsk }: Props) {
  const [draft, setDraft] = useState(question)
  // Another question in the address, for example after Back, comes into the form.
  const [shown, setShown] = useState(question)
  if (JSON.stringify(shown) !== JSON.stringify(question)) {
    setShown(question)
    setDraft(question)
  }
  const [errors, setErrors] = useState<Errors>({})
  const set = (change: Partial<Question>) => setDraft((now) => ({ ...now, ...change }))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const found = problemsOf(draft)
    setErrors(found)
    if (Object.keys(found).length === 0) onAsk(draft)
  }
  const isWho = draft.mode === 'who'
  const fitting = names.filter((name) => name.toLowerCase().includes(draft.target.toLowerCase())).slice(0, mostNames)
  return (
    <Frame title={isWho ? 'Who reaches a target?' : 'Can it reach a target?'} inset="none">
      <form onSubmit={submit} noValidate>
        <div className="askrow">
          {!isWho && (
            <SubjectPicker value={draft.subject} onChange={(subject) => set({ subject })} error={errors.subject} />
          )}
          <TextField
            label={isWho ? 'Who reaches' : 'reach'}
            placeholder="wiki, wiki:tcp/443, 10.1.2.3:tcp/22"
            maxLength={256}
            autoComplete="off"
            spellCheck={false}
            suggestions={fitting}
            error={errors.target}
            value={draft.target}
            onChange={(target) => set({ target })}
          />
          <TextField
            label="at"
            placeholder="now"
            autoComplete="off"
            error={errors.at}
            value={draft.at}
            onChange={(at) => set({ at })}
          />
          {!isWho && (
            <>
              <TextField
                label="from address"
                placeholder="unknown"
                maxLength={64}
                autoComplete="off"
                value={draft.sourceIp}
                onChange={(sourceIp) => set({ sourceIp })}
              />
              <TextField
                label="country"
                placeholder="unknown"
                maxLength={2}
                autoComplete="off"
                value={draft.country}
                onChange={(country) => set({ country })}
              />
              <NumberField
                label="second factor"
                unit="min ago"
                optional
                min={0}
                max={1_000_000}
                value={draft.mfaMinutes}
                onChange={(mfaMinutes) => set({ mfaMinutes })}
              />
            </>
          )}
          <SelectField
            label="under"
            options={judges}
            value={draft.under}
            onChange={(under) => set({ under, ...(under === draft.against && { against: undefined }) })}
          />
          <SelectField
            label="compared with"
            options={[{ value: '', label: 'Nothing' }, ...judges.filter(({ value }) => value !== draft.under)]}
            value={draft.against ?? ''}
            onChange={(against) => set({ against: against || undefined })}
          />
          <Button kind="primary" type="submit" busyLabel="Asking…" isBusy={isBusy}>
            Ask
          </Button>
        </div>
      </form>
    </Frame>
  )
}

function problemsOf({ mode, subject, target, at }: Question): Errors {
  const isWrongTime = at.trim() !== '' && Number.isNaN(Date.parse(at.trim()))
  return {
    ...(mode === 'reach' && !subject && { subject: 'Choose a device or a user.' }),
    ...(target.trim() === '' && { target: 'Name a resource or an address.' }),
    ...(isWrongTime && { at: 'Write a time like 2026-01-31T09:30:00Z.' }),
  }
}
