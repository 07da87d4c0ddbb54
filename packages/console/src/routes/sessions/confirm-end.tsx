import { useState } from 'react'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { SelectField } from '../../ui/fields.tsx'
import { formatCount } from '../../ui/format.ts'
import { formatDuration } from '../../ui/format-time.ts'
import { toast } from '../../ui/toast.tsx'
import { commandOf, endSessions } from './end-sessions.ts'
import { blockTimes, defaultBlock, nameOf, type SessionTarget } from './words.ts'

type Props = { target: SessionTarget; onDone: (() => void) | undefined; onClose: () => void }
const shownNames = 5
const typedAbove = 25

/** Asks before sessions end, and for how long the gateways refuse their devices. */
export function ConfirmEnd({ target, onDone, onClose }: Props) {
  const [block, setBlock] = useState<string>(defaultBlock)
  const [error, setError] = useState<Error>()
  const names = 'sessions' in target ? target.sessions.map(nameOf) : target.names
  const count = 'sessions' in target ? names.length : target.matched
  const named = count === 1 ? `session of ${names[0] ?? 'one device'}` : formatCount(count, 'session')
  const act = async (reason: string | undefined) => {
    try {
      const { terminated } = await endSessions(target, { blockSeconds: Number(block), reason })
      toast({ title: resultOf(terminated, count, named), text: keptOut(terminated, block) })
      onDone?.()
      onClose()
    } catch (e) {
      setError(e as Error)
    }
  }
  return (
    <Confirm
      title={`End ${count === 1 ? `the ${named}` : named}?`}
      lede={`${count === 1 ? 'Its gateway ends' : 'Their gateways end'} the connection within seconds.`}
      objects={{ names: names.slice(0, shownNames), more: Math.max(0, count - shownNames) }}
      effects={[
        { icon: 'out', text: 'Transfers through the tunnel are interrupted' },
        {
          icon: 'clock',
          text:
            block === '0'
              ? 'A client that reconnects automatically is back at once'
              : `The gateways of the pool refuse the device for ${formatDuration(Number(block))}`,
        },
        { icon: 'laptop', text: 'The device stays enrolled; to keep it out for longer, suspend it' },
      ]}
      reason="optional"
      {...(count > typedAbove && { typed: String(count) })}
      keepLabel={count === 1 ? 'Keep session' : 'Keep sessions'}
      deedLabel={count === 1 ? 'End session' : `End ${named}`}
      busyLabel="Ending…"
      command={commandOf(target, Number(block))}
      problem={error && <ChangeProblem error={error} />}
      onConfirm={act}
      onClose={onClose}
    >
      <SelectField
        label={`Keep the ${count === 1 ? 'device' : 'devices'} out for`}
        options={blockTimes}
        value={block}
        onChange={setBlock}
      />
    </Confirm>
  )
}

function resultOf(ended: number, count: number, named: string): string {
  if (ended === 0) return count === 1 ? `The ${named} had already ended` : 'The sessions had already ended'
  if (ended < count) return `${formatCount(ended, 'session')} ended, ${count - ended} had already ended`
  return `${named.charAt(0).toUpperCase()}${named.slice(1)} ended`
}
const keptOut = (ended: number, block: string) =>
  ended > 0 && block !== '0' ? `Kept out of the pool for ${formatDuration(Number(block))}.` : undefined
