import type { OutputOf } from '../../api/client.ts'
import { Button } from '../../ui/button.tsx'
import { CopyId } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { formatNumber } from '../../ui/format.ts'
import { StackBar } from '../../ui/progress.tsx'

type Props = { title: string; result: OutputOf<'POST /v1/admin/devices/batch'>; onClose: () => void }
const most = 200

/** What became of a bulk change: the sum in a sentence, and each device that was not changed. */
export function BatchResult({ title, result: { summary, results }, onClose }: Props) {
  const { changed, unchanged, failed } = summary
  const others = results.filter((r) => r.outcome !== 'changed')
  const sentence = `${formatNumber(changed)} changed, ${formatNumber(unchanged)} unchanged, ${formatNumber(failed)} failed`
  return (
    <Dialog
      title={title}
      wide
      onClose={onClose}
      footer={
        <Button kind="primary" autoFocus onClick={onClose}>
          Close
        </Button>
      }
    >
      <p role="status">{sentence}.</p>
      <StackBar
        label={sentence}
        parts={[
          { value: changed, fill: 'bxok' },
          { value: unchanged, fill: 'bx1' },
          { value: failed, fill: 'bxbad' },
        ]}
      />
      <ul className="objects">
        {others.slice(0, most).map((r) => (
          <li key={r.device_id}>
            <CopyId id={r.device_id} />
            <span className="soft">{r.outcome === 'failed' ? (r.error ?? 'failed') : 'was so already'}</span>
          </li>
        ))}
        {others.length > most && <li className="more">and {formatNumber(others.length - most)} more</li>}
      </ul>
    </Dialog>
  )
}
