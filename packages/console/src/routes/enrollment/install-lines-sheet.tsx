import { useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import type { ApiError } from '../../api/api-error.ts'
import { type Answer, call, callWithEtag, type OutputOf } from '../../api/client.ts'
import { useOffReason } from '../../api/me.ts'
import { queryClient } from '../../api/query-client.ts'
import { withStepUp } from '../../api/step-up.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { focusFirstError } from '../../ui/field.tsx'
import { TextField } from '../../ui/fields.tsx'
import { Note } from '../../ui/note.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Sheet } from '../../ui/sheet.tsx'
import { toast } from '../../ui/toast.tsx'
import { platformWords } from '../devices/words.ts'

const route = 'GET /v1/admin/settings/enrollment'
type Settings = OutputOf<typeof route>
type Platform = keyof Settings['install_templates']
type Draft = Record<`${'line' | 'url'}.${Platform}`, string>
const platforms: readonly Platform[] = ['macos', 'windows', 'linux', 'ios', 'android']

/** Sheet for the command lines by which the tenant's client enrolls, and its download addresses. */
export function InstallLinesSheet({ onClose }: { onClose: () => void }) {
  const query = useQuery({
    queryKey: [route, 'edit'],
    queryFn: () => callWithEtag(route, {}),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  if (query.data)
    return <Form key={query.data.etag} answer={query.data} onClose={onClose} onReload={() => void query.refetch()} />
  return (
    <Sheet title="Install lines" onClose={onClose}>
      {query.error ? (
        <Problem error={query.error} retry={query.refetch} what="the install lines" />
      ) : (
        <div className="stack" aria-busy="true" />
      )}
    </Sheet>
  )
}

function draftOf({ install_templates, download_urls }: Settings): Draft {
  const entries = platforms.flatMap((platform) => [
    [`line.${platform}`, install_templates[platform] ?? ''],
    [`url.${platform}`, download_urls[platform] ?? ''],
  ])
  return Object.fromEntries(entries) as Draft
}

const valuesOf = (draft: Draft, part: 'line' | 'url') =>
  Object.fromEntries(platforms.map((p) => [p, draft[`${part}.${p}`].trim() || null])) as Settings['download_urls']

type FormProps = { answer: Answer<typeof route>; onClose: () => void; onReload: () => void }

function Form({ answer: { body: settings, etag }, onClose, onReload }: FormProps) {
  const form = useRef<HTMLFormElement>(null)
  const before = draftOf(settings)
  const [draft, setDraft] = useState(before)
  const [error, setError] = useState<ApiError>()
  const changed = (Object.keys(before) as (keyof Draft)[]).filter((name) => draft[name].trim() !== before[name])
  const save = async () => {
    setError(undefined)
    try {
      const body = { install_templates: valuesOf(draft, 'line'), download_urls: valuesOf(draft, 'url') }
      await withStepUp(() => call('PUT /v1/admin/settings/enrollment', { body }, { ifMatch: etag }))
      await queryClient.invalidateQueries({ queryKey: [route] })
      toast({ title: 'Install lines saved' })
      onClose()
    } catch (e) {
      setError(e as ApiError)
      focusFirstError(form.current)
    }
  }
  const offReason =
    useOffReason()('settings:write') ?? (changed.length === 0 ? 'There is no change to save.' : undefined)
  return (
    <Sheet
      title="Install lines"
      isHeld={changed.length > 0 && 'typed'}
      onClose={onClose}
      footer={
        <>
          <span className="grow" />
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busyLabel="Saving…" onClick={save} offReason={offReason}>
            Save install lines
          </Button>
        </>
      }
    >
      <form
        className="stack"
        ref={form}
        onSubmit={(event) => {
          event.preventDefault()
          if (offReason === undefined) void save()
        }}
      >
        <p className="soft">
          Holdfast has no client of its own. Write the line with which your client enrolls: <code>{'{server}'}</code>{' '}
          becomes the address of this server, <code>{'{token}'}</code> the secret of a token. An empty field shows a
          built-in example.
        </p>
        {error && <Failure error={error} onReload={onReload} />}
        {platforms.map((platform) => (
          <PlatformFields key={platform} {...{ platform, settings, draft, error }} onChange={setDraft} />
        ))}
        <button type="submit" hidden tabIndex={-1}>
          Save install lines
        </button>
      </form>
    </Sheet>
  )
}

type FieldsProps = {
  platform: Platform
  settings: Settings
  draft: Draft
  error: ApiError | undefined
  onChange: (draft: Draft) => void
}

function PlatformFields({ platform, settings, draft, error, onChange }: FieldsProps) {
  const wrong = (field: string) => error?.errors.find((e) => e.field === `${field}.${platform}`)?.message
  const name = platformWords[platform]
  const isOwn = settings.install_templates[platform] !== null
  return (
    <div className="stack tight">
      <TextField
        label={`Line for ${name}`}
        optional
        isMono
        spellCheck={false}
        maxLength={1024}
        placeholder={isOwn ? '' : settings.install_lines[platform]}
        value={draft[`line.${platform}`]}
        onChange={(text) => onChange({ ...draft, [`line.${platform}`]: text })}
        error={wrong('install_templates')}
      />
      <TextField
        label={`Download for ${name}`}
        optional
        spellCheck={false}
        inputMode="url"
        maxLength={2048}
        placeholder="https://…"
        value={draft[`url.${platform}`]}
        onChange={(text) => onChange({ ...draft, [`url.${platform}`]: text })}
        error={wrong('download_urls')}
      />
    </div>
  )
}

function Failure({ error, onReload }: { error: ApiError; onReload: () => void }) {
  if (error.errors?.length > 0) return null
  if (error.code === 'validation_error')
    return (
      <Note
        kind="warn"
        role="alert"
        title="Somebody else has changed the install lines in the meantime."
        actions={
          <Button size="sm" onClick={onReload}>
            Load their version
          </Button>
        }
      >
        <p>Your change was not saved. {error.detail}</p>
      </Note>
    )
  return <ChangeProblem error={error} />
}
