import { useState } from 'react'
import { ApiError, isOvertaken, messageOf } from '../../api/api-error.ts'
import { useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { useNavigation } from '../../navigation.ts'
import type { Document } from '../../policy/difference.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { CheckboxField, RadioGroup } from '../../ui/choices.tsx'
import type { ComboOption } from '../../ui/combo-box-field.tsx'
import { NumberField, SelectField, TextArea } from '../../ui/fields.tsx'
import { Frame } from '../../ui/frame.tsx'
import { Note } from '../../ui/note.tsx'
import { toast } from '../../ui/toast.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import { deleteDraft } from '../editor/stored-drafts.ts'
import { GroupsField } from '../enrollment/pickers.tsx'
import { publish, refreshPolicy } from '../policy/publish.ts'
import type { Version } from '../policy/words.ts'

type Channel = Version['channel']
type Gate = 'none' | 'hold' | 'rollback'
type Plan = {
  channel: Channel
  percent: number | undefined
  groups: readonly ComboOption[]
  gate: Gate
  observeMinutes: number | undefined
  note: string
  isForced: boolean
}
const firstPlan: Plan = {
  channel: 'canary',
  percent: 10,
  groups: [],
  gate: 'rollback',
  observeMinutes: 60,
  note: '',
  isForced: false,
}

type Props = {
  draftId: string
  /** Version of the draft that is published. A newer one is not deleted. */
  etag: string | undefined
  name: string
  document: Document
  stable: Version | undefined
  canary: Version | undefined
  /** Newest canary, even if it has ended: a publication names it as the one it replaces. */
  lastCanary: Version | undefined
}

/** Publishes the draft to a part of the devices, or to all of them. */
export function PublishCard({ draftId, etag, name, document, stable, canary, lastCanary }: Props) {
  const { go } = useNavigation()
  const off = useOffReason()('policy:publish')
  const [stored, setPlan] = useDraft<Plan>(
    `publish ${draftId}`,
    stable ? firstPlan : { ...firstPlan, channel: 'stable' },
  )
  const [error, setError] = useState<Error>()
  const tests = useApi('POST /v1/admin/policy/validate', { body: { policy: document } }).data?.tests
  const plan: Plan = stable ? stored : { ...stored, gate: 'none' }
  const set = (change: Partial<Plan>) => setPlan((now) => ({ ...now, ...change }))
  const failed = tests?.failed ?? 0
  const reason = off ?? reasonOf(plan, failed)
  const act = async () => {
    setError(undefined)
    try {
      const { version, channel } = await publish(bodyOf(plan, document, { stable, canary, lastCanary }))
      await deleteDraft(draftId, etag).catch((e: unknown) => toast(keptToast(draftId, name, e)))
      toast({ title: `v${version} published to ${channel}`, text: plan.note })
      go('/admin/policy')
    } catch (e) {
      setError(e as Error)
    }
  }
  return (
    <Frame title="Publish" inset="stack">
      <RadioGroup<Channel>
        label="Publish to"
        options={[
          {
            value: 'canary',
            label: 'Canary, a part of the devices',
            help: canary ? `Replaces canary v${canary.version}` : 'The others keep stable',
          },
          {
            value: 'stable',
            label: 'Stable, all devices',
            help: canary ? `Skips the gate, and ends canary v${canary.version}` : 'Skips the gate',
          },
        ]}
        value={plan.channel}
        onChange={(channel) => set({ channel })}
      />
      {plan.channel === 'canary' && <CanaryFields plan={plan} hasStable={stable !== undefined} onChange={set} />}
      <TextArea
        label="Note"
        help="What changes, and why. The history and the audit log show it."
        rows={2}
        value={plan.note}
        onChange={(note) => set({ note })}
      />
      {failed > 0 && (
        <CheckboxField
          label={`Publish although ${failed === 1 ? '1 test fails' : `${failed} tests fail`}`}
          value={plan.isForced}
          onChange={(isForced) => set({ isForced })}
        />
      )}
      {error && (isOutdated(error) ? <Outdated channel={plan.channel} /> : <ChangeProblem error={error} />)}
      <div className="row">
        <Button kind="primary" offReason={reason} busyLabel="Publishing…" onClick={act}>
          Publish to {plan.channel}
        </Button>
        {reason !== undefined && <span className="soft xs">{reason}</span>}
      </div>
    </Frame>
  )
}

/** The publication is made, but its draft is not deleted: another person has changed it, or the request failed. */
const keptToast = (draftId: string, name: string, error: unknown) => ({
  kind: 'bad' as const,
  title: `The draft ${name} is kept`,
  text: isOvertaken(error)
    ? 'It has changes that are newer than the review. They are not published.'
    : messageOf(error),
  link: { to: `/admin/policy/edit?draft=${draftId}`, label: 'Open the draft' },
})

/** True if the channel delivers another version than the review shows. */
const isOutdated = (error: Error): boolean =>
  error instanceof ApiError && error.errors.some(({ field }) => field === 'previous_digest')

const Outdated = ({ channel }: { channel: Channel }) => (
  <Note
    kind="warn"
    role="alert"
    title={`Another person has published to ${channel} meanwhile.`}
    actions={
      <Button size="sm" busyLabel="Loading…" onClick={refreshPolicy}>
        Show what changes now
      </Button>
    }
  >
    Nothing was published. Review the draft against the new version first.
  </Note>
)

type FieldsProps = { plan: Plan; hasStable: boolean; onChange: (change: Partial<Plan>) => void }

function CanaryFields({ plan, hasStable, onChange }: FieldsProps) {
  const off = useOffReason()
  return (
    <>
      <NumberField
        label="Share of the devices"
        unit="% of devices"
        min={0}
        max={100}
        value={plan.percent}
        onChange={(percent) => onChange({ percent })}
      />
      <GroupsField
        label="Groups on canary"
        offReason={off('groups:read')}
        value={plan.groups}
        onChange={(groups) => onChange({ groups })}
      />
      <SelectField<Gate>
        label="Gate"
        offReason={hasStable ? undefined : 'A gate compares with stable, which has no version.'}
        options={[
          { value: 'rollback', label: 'Goes back to stable if devices have problems' },
          { value: 'hold', label: 'Holds the promotion if devices have problems' },
          { value: 'none', label: 'No gate' },
        ]}
        value={plan.gate}
        onChange={(gate) => onChange({ gate })}
      />
      {plan.gate !== 'none' && (
        <NumberField
          label="Gate watches for"
          unit="min"
          min={1}
          max={20_160}
          value={plan.observeMinutes}
          onChange={(observeMinutes) => onChange({ observeMinutes })}
        />
      )}
    </>
  )
}

function reasonOf({ channel, percent, groups, gate, observeMinutes, note, isForced }: Plan, failed: number) {
  if (channel === 'canary' && percent === undefined) return 'Enter a percentage from 0 to 100.'
  if (channel === 'canary' && percent === 0 && groups.length === 0) return 'Choose a share of the devices, or a group.'
  if (channel === 'canary' && gate !== 'none' && observeMinutes === undefined) return 'Enter how long the gate watches.'
  if (failed > 0 && !isForced) return 'Tests fail.'
  return note.trim() === '' ? 'Enter a note first.' : undefined
}

function bodyOf(
  plan: Plan,
  document: Document,
  { stable, canary, lastCanary }: Pick<Props, 'stable' | 'canary' | 'lastCanary'>,
) {
  const { channel, percent = 0, groups, gate, observeMinutes, note, isForced } = plan
  const shown = channel === 'stable' ? stable : lastCanary
  return {
    channel,
    policy: document,
    note: note.trim(),
    previous_digest: shown?.digest ?? null,
    ...(isForced && { allow_failing_tests: true }),
    ...(channel === 'stable' && canary && { supersede: true }),
    ...(channel === 'canary' && {
      rollout: { percent, group_ids: groups.map(({ id }) => id) },
      ...(gate !== 'none' && {
        gate: { on_failure: gate, ...(observeMinutes !== undefined && { observe_minutes: observeMinutes }) },
      }),
    }),
  }
}
