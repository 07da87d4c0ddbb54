import { useState } from 'react'
import { useOffReason } from '../../api/me.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import type { ComboOption } from '../../ui/combo-box-field.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { NumberField, TextField } from '../../ui/fields.tsx'
import { formatCount } from '../../ui/format.ts'
import { Sheet } from '../../ui/sheet.tsx'
import { toast } from '../../ui/toast.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import { GroupsField } from '../enrollment/pickers.tsx'
import { publish } from './publish.ts'
import type { Version } from './words.ts'

type Rollout = { percent: number | undefined; groups: readonly ComboOption[]; note: string }

/** Chooses other devices for the active canary. Its document is published again with the new rollout. */
export function ChangeRollout({ canary, onClose }: { canary: Version; onClose: () => void }) {
  const [draft, setDraft] = useDraft<Rollout>(`rollout ${canary.bundle_id}`, {
    percent: canary.rollout.percent,
    groups: canary.rollout.group_ids.map((id, i) => ({ id, label: canary.rollout.group_names[i] ?? id })),
    note: '',
  })
  const [error, setError] = useState<Error>()
  const { percent, groups, note } = draft
  const { gate, rollout } = canary
  const set = (change: Partial<Rollout>) => setDraft((now) => ({ ...now, ...change }))
  const save = async () => {
    setError(undefined)
    if (percent === undefined) return setError(new Error('Enter a percentage from 0 to 100.'))
    try {
      const { version } = await publish({
        channel: 'canary',
        from: { digest: canary.digest },
        previous_digest: canary.digest,
        rollout: { percent, group_ids: groups.map(({ id }) => id), device_ids: rollout.device_ids },
        ...(note.trim() !== '' && { note: note.trim() }),
        ...(gate && { gate: termsOf(gate) }),
      })
      toast({
        title: `Canary is v${version}`,
        text: `${percent} % of devices and ${formatCount(groups.length, 'group')}`,
      })
      onClose()
    } catch (e) {
      setError(e as Error)
    }
  }
  return (
    <Sheet
      title={`Change rollout of v${canary.version}`}
      onClose={onClose}
      isHeld={note !== '' && 'typed'}
      footer={
        <>
          <CopyButton kind="ghost" text={commandOf(percent, groups)} label="Copy as command" />
          <span className="grow" />
          <Button onClick={onClose}>Keep rollout</Button>
          <Button kind="primary" busyLabel="Publishing…" onClick={save}>
            Publish to canary
          </Button>
        </>
      }
    >
      <p className="soft">
        The same document is published again as a new version on canary.{' '}
        {gate && 'Its gate begins again with the same limits.'}
      </p>
      <NumberField
        label="Share of the devices"
        unit="% of devices"
        min={0}
        max={100}
        help="The choice depends on the device alone, so a higher percentage only adds devices."
        value={percent}
        onChange={(value) => set({ percent: value })}
      />
      <GroupsField
        label="Groups on canary"
        offReason={useOffReason()('groups:read')}
        value={groups}
        onChange={(value) => set({ groups: value })}
      />
      {rollout.device_ids.length > 0 && (
        <p className="soft">And {formatCount(rollout.device_ids.length, 'device')} by name, as before.</p>
      )}
      <TextField label="Note" optional maxLength={1000} value={note} onChange={(value) => set({ note: value })} />
      {error && <ChangeProblem error={error} />}
    </Sheet>
  )
}

const termsOf = ({ observe_minutes, min_devices, on_failure, max_rise_percent }: NonNullable<Version['gate']>) => ({
  observe_minutes,
  min_devices,
  on_failure,
  max_rise_percent,
})

const commandOf = (percent: number | undefined, groups: readonly ComboOption[]): string =>
  [
    'holdfast policy publish canary.json --channel canary',
    percent !== undefined && `--percent ${percent}`,
    ...groups.map(({ label }) => `--group '${label}'`),
  ]
    .filter(Boolean)
    .join(' ')
