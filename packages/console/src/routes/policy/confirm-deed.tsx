import { useState } from 'react'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { toast } from '../../ui/toast.tsx'
import { type Channels, type Deed, wordsOf } from './deeds.ts'
import { publish } from './publish.ts'

type Props = { deed: Deed; channels: Channels; onClose: () => void }

/** Asks before a promotion, the end of a canary, or a rollback. */
export function ConfirmDeed({ deed, channels, onClose }: Props) {
  const [error, setError] = useState<Error>()
  const words = wordsOf(deed, channels)
  const act = async (note: string | undefined) => {
    setError(undefined)
    try {
      const { version } = await publish({ ...bodyOf(deed, channels), ...(note !== undefined && { note }) })
      toast({ title: words.done(version) })
      onClose()
    } catch (e) {
      setError(e as Error)
    }
  }
  return (
    <Confirm
      title={words.title}
      lede={words.lede}
      objects={{ names: [] }}
      effects={words.effects}
      reason={deed.kind === 'promote' && deed.isOverride ? 'required' : 'optional'}
      keepLabel={words.keep}
      deedLabel={words.verb}
      busyLabel={words.busy}
      danger={words.isDanger}
      command={words.command}
      problem={error && <ChangeProblem error={error} />}
      onConfirm={act}
      onClose={onClose}
    />
  )
}

/** Publishes exactly the document that the question was about, if stable is still the shown version. */
function bodyOf(deed: Deed, { stable }: Channels) {
  const base = { channel: 'stable', previous_digest: stable?.digest ?? null } as const
  if (deed.kind === 'promote')
    return { ...base, from: { digest: deed.canary.digest }, ...(deed.isOverride && { override_gate: true }) }
  if (deed.kind === 'end_canary') return { ...base, from: { channel: 'stable' as const }, supersede: true }
  return { ...base, from: { version: deed.to.version }, supersede: true }
}
