import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type ApiError, isOvertaken } from '../../api/api-error.ts'
import { type Answer, call, callWithEtag } from '../../api/client.ts'
import { expectOwnChange } from '../../api/live.ts'
import { queryClient } from '../../api/query-client.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { SelectField, TextField } from '../../ui/fields.tsx'
import { Overtaken } from '../../ui/overtaken.tsx'
import { errorOf, Problem } from '../../ui/problem.tsx'
import { Sheet } from '../../ui/sheet.tsx'
import { SkeletonLines } from '../../ui/skeleton.tsx'
import { toast } from '../../ui/toast.tsx'
import { useDraft } from '../../ui/use-draft.ts'

const route = 'GET /v1/admin/devices/{device_id}'
const channels = [
  { value: 'auto', label: 'As the rollout decides' },
  { value: 'stable', label: 'Stable' },
  { value: 'canary', label: 'Canary' },
] as const

/** Sheet that changes name, tags and channel of a device. */
export function EditDevice({ deviceId, onClose }: { deviceId: string; onClose: () => void }) {
  const query = useQuery({
    queryKey: [route, 'edit', deviceId],
    queryFn: () => callWithEtag(route, { params: { device_id: deviceId } }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  if (query.data) return <EditForm {...{ answer: query.data, onClose }} onReload={query.refetch} />
  return (
    <Sheet title="Edit device" onClose={onClose}>
      {query.error ? <Problem error={query.error} retry={query.refetch} what="this device" /> : <SkeletonLines />}
    </Sheet>
  )
}

type FormProps = { answer: Answer<typeof route>; onClose: () => void; onReload: () => Promise<unknown> }

function EditForm({ answer: { body: device, etag }, onClose, onReload }: FormProps) {
  const stored = { name: device.name, tags: device.tags.join(' '), channel: device.channel }
  const [draft, setDraft] = useDraft(`edit ${device.device_id}`, stored)
  const { name, tags, channel } = draft
  const [error, setError] = useState<ApiError>()
  const isChanged = name !== stored.name || tags !== stored.tags || channel !== stored.channel
  const isStale = error !== undefined && isOvertaken(error)
  const save = async () => {
    setError(undefined)
    try {
      expectOwnChange('devices')
      const changed = { name: name.trim(), tags: tagsOf(tags), channel }
      const body = { operation: 'update' as const, device_id: device.device_id, device: changed }
      await call('POST /v1/admin/devices/lifecycle', { body }, { ifMatch: etag })
      await queryClient.invalidateQueries({
        predicate: ({ queryKey: [key] }) => String(key).startsWith('GET /v1/admin/devices'),
      })
      toast({ title: `${name.trim()} saved` })
      onClose()
    } catch (e) {
      // Reads the stored version and shows it beside this one. Saving again overwrites it.
      if (isOvertaken(e)) await onReload()
      setError(e as ApiError)
    }
  }
  return (
    <Sheet
      title={`Edit ${device.name}`}
      isHeld={isChanged && 'typed'}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            busyLabel="Saving…"
            onClick={save}
            {...(!isChanged && { offReason: 'There is no change to save.' })}
          >
            {isStale ? 'Overwrite with my changes' : 'Save device'}
          </Button>
        </>
      }
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (isChanged) void save()
        }}
      >
        <TextField
          label="Name"
          value={name}
          onChange={(next) => setDraft({ ...draft, name: next })}
          maxLength={128}
          error={errorOf(error ?? null, 'device.name')}
        />
        <TextField
          label="Tags"
          help="Lowercase letters, digits and . _ : -, separated by spaces. Policy rules can use them."
          value={tags}
          onChange={(next) => setDraft({ ...draft, tags: next })}
          optional
          error={errorOf(error ?? null, 'device.tags')}
        />
        <SelectField
          label="Channel"
          help="Canary devices get a new policy first."
          options={channels}
          value={channel}
          onChange={(next) => setDraft({ ...draft, channel: next })}
        />
        {isStale && (
          <Overtaken
            noun="device"
            changes={differencesOf(device, { name: name.trim(), tags: tagsOf(tags), channel })}
            onTake={() => {
              setDraft(stored)
              setError(undefined)
            }}
          />
        )}
        {error && !isStale && error.errors.length === 0 && <ChangeProblem error={error} />}
      </form>
    </Sheet>
  )
}

const tagsOf = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean)

type Fields = Pick<Answer<typeof route>['body'], 'name' | 'channel'> & { tags: readonly string[] }
const differencesOf = (theirs: Fields, mine: Fields) => [
  { field: 'Name', before: theirs.name, after: mine.name },
  { field: 'Tags', before: theirs.tags.join(' ') || '–', after: mine.tags.join(' ') || '–' },
  { field: 'Channel', before: theirs.channel, after: mine.channel },
]
