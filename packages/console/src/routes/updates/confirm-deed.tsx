import { useState } from 'react'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { NumberField } from '../../ui/fields.tsx'
import { formatCount } from '../../ui/format.ts'
import { toast } from '../../ui/toast.tsx'
import { doDeed } from './move-release.ts'
import { audienceOf, commandOf, deedWords, type Release, type ReleaseDeed } from './words.ts'

type Props = { release: Release; deed: ReleaseDeed; onClose: () => void }

/** Asks before a release changes its state, and for the share of devices in its rollout. */
export function ConfirmDeed({ release, deed, onClose }: Props) {
  const words = deedWords[deed]
  const [percent, setPercent] = useState<number | undefined>(release.rollout.percent)
  const [error, setError] = useState<Error>()
  const groups = release.rollout.group_ids.length
  const act = async (reason: string | undefined) => {
    setError(undefined)
    if (words.takesPercent && percent === undefined) return setError(new Error('Enter a percentage from 0 to 100.'))
    try {
      await doDeed(release, deed, { percent: words.takesPercent && percent, reason })
      toast({
        title: `${release.version} ${words.done}`,
        text: words.takesPercent && `Offered to ${percent} % of ${audienceOf(release)}`,
      })
      onClose()
    } catch (e) {
      setError(e as Error)
    }
  }
  return (
    <Confirm
      title={`${words.verb} ${release.version}${words.isFinal ? ' for good' : ''}?`}
      lede={words.lede}
      objects={{ names: [] }}
      effects={words.effects}
      reason={words.reason}
      {...(words.isFinal && { typed: release.version })}
      keepLabel={words.keep}
      deedLabel={deed === 'roll_out' ? 'Set rollout' : `${words.verb} ${release.version}`}
      busyLabel={words.busy}
      danger={words.isDanger ?? false}
      command={commandOf(deed, release.version, percent)}
      problem={error && <ChangeProblem error={error} />}
      onConfirm={act}
      onClose={onClose}
    >
      {words.takesPercent && (
        <NumberField
          label="Offer it to"
          unit={`% of ${audienceOf(release)}`}
          min={0}
          max={100}
          help={
            groups > 0
              ? `And to all devices of ${formatCount(groups, 'group')}, as before.`
              : 'The choice depends on device and version, so a higher percentage only adds devices.'
          }
          value={percent}
          onChange={setPercent}
        />
      )}
    </Confirm>
  )
}
