import { useState } from 'react'
import type { ApiError } from '../../api/api-error.ts'
import { call } from '../../api/client.ts'
import { expectOwnChange } from '../../api/live.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { SelectField, SwitchField, TextArea, TextField } from '../../ui/fields.tsx'
import { errorOf, FieldErrors } from '../../ui/problem.tsx'
import { Sheet } from '../../ui/sheet.tsx'
import { toast } from '../../ui/toast.tsx'
import { refreshReleases } from './move-release.ts'
import type { Release } from './words.ts'

const channels = [
  { value: 'canary', label: 'Canary: the devices that try new things first' },
  { value: 'stable', label: 'Stable: all devices' },
] as const
const severities = [
  { value: 'low', label: 'Low' },
  { value: 'normal', label: 'Normal' },
  { value: 'high', label: 'High' },
  { value: 'critical', label: 'Critical' },
] as const
const fields = ['version', 'notes', 'notes_url', 'min_from_version']
const empty = {
  version: '',
  notes: '',
  notes_url: '',
  min_from_version: '',
  mandatory: false,
  channel: 'canary' as Release['channel'],
  severity: 'normal' as Release['severity'],
}
type Draft = typeof empty

type Props = { onClose: () => void; onCreated: (release: Release) => void }

/** Sheet that creates a release as a draft. Packages are added later, and no device is offered a draft. */
export function NewRelease({ onClose, onCreated }: Props) {
  const [draft, setDraft] = useState(empty)
  const [error, setError] = useState<ApiError>()
  const set = (change: Partial<Draft>) => setDraft({ ...draft, ...change })
  const version = draft.version.trim()
  const create = async () => {
    setError(undefined)
    try {
      expectOwnChange('updates')
      const release = await call('POST /v1/admin/updates/releases', { body: bodyOf(draft) })
      await refreshReleases()
      toast({ title: `Draft ${release.version} created`, text: 'Add its packages next.' })
      onCreated(release)
    } catch (e) {
      setError(e as ApiError)
    }
  }
  const isFieldError = (error?.errors.length ?? 0) > 0
  return (
    <Sheet
      title="New release"
      isHeld={draft !== empty && 'typed'}
      onClose={onClose}
      footer={
        <>
          {version && (
            <CopyButton
              kind="ghost"
              text={`holdfast release create ${version} --channel ${draft.channel} --severity ${draft.severity}`}
              label="Copy as command"
            />
          )}
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            busyLabel="Creating…"
            onClick={create}
            {...(!version && { offReason: 'Enter a version first.' })}
          >
            Create draft
          </Button>
        </>
      }
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (version) void create()
        }}
      >
        <Fields draft={draft} set={set} error={error ?? null} />
        {error && !isFieldError && <ChangeProblem error={error} />}
        <FieldErrors error={error ?? null} fields={fields} />
      </form>
    </Sheet>
  )
}

type FieldsProps = { draft: Draft; set: (change: Partial<Draft>) => void; error: ApiError | null }

function Fields({ draft, set, error }: FieldsProps) {
  return (
    <>
      <TextField
        label="Version"
        placeholder="1.4.0"
        help="Semantic Versioning, without build metadata."
        isMono
        value={draft.version}
        onChange={(version) => set({ version })}
        error={errorOf(error, 'version')}
      />
      <SelectField
        {...{ label: 'Channel', options: channels, value: draft.channel }}
        onChange={(channel) => set({ channel })}
      />
      <SelectField
        {...{ label: 'Severity', options: severities, value: draft.severity }}
        help="How serious it is to miss this release. Clients show it."
        onChange={(severity) => set({ severity })}
      />
      <SwitchField
        label="Mandatory"
        help="Devices with an older version must update."
        value={draft.mandatory}
        onChange={(mandatory) => set({ mandatory })}
      />
      <TextField
        label="Only from version"
        help="Older devices get another release first."
        placeholder="1.2.0"
        isMono
        optional
        value={draft.min_from_version}
        onChange={(min_from_version) => set({ min_from_version })}
        error={errorOf(error, 'min_from_version')}
      />
      <TextArea
        label="Notes"
        help="Changes in this release, for the users of the devices."
        optional
        rows={4}
        value={draft.notes}
        onChange={(notes) => set({ notes })}
        error={errorOf(error, 'notes')}
      />
      <TextField
        label="URL of the release notes"
        placeholder="https://example.com/releases/1.4.0"
        optional
        value={draft.notes_url}
        onChange={(notes_url) => set({ notes_url })}
        error={errorOf(error, 'notes_url')}
      />
    </>
  )
}

const bodyOf = ({ version, channel, severity, mandatory, notes, notes_url, min_from_version }: Draft) => ({
  version: version.trim(),
  channel,
  severity,
  mandatory,
  ...(notes && { notes }),
  ...(notes_url.trim() && { notes_url: notes_url.trim() }),
  ...(min_from_version.trim() && { min_from_version: min_from_version.trim() }),
})
