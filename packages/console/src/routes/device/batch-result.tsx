import type { DeviceRef } from '../../shell/overlay.ts'
import { toCsv } from '../../table/csv.ts'
import { Button } from '../../ui/button.tsx'
import { CopyId } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { formatNumber } from '../../ui/format.ts'
import { StackBar } from '../../ui/progress.tsx'
import { saveFile } from '../../ui/save-file.ts'
import type { BatchAnswer } from './change-devices.ts'

type Props = { title: string; result: BatchAnswer; devices: readonly DeviceRef[]; onClose: () => void }
const most = 100

/** Result of a bulk change: the totals in a sentence, each device that was not changed, and all devices as a file. */
export function BatchResult({ title, result: { summary, results }, devices, onClose }: Props) {
  const { changed, unchanged, failed } = summary
  // Failures come first: they need further work.
  const others = [...results.filter((r) => r.outcome === 'failed'), ...results.filter((r) => r.outcome === 'unchanged')]
  const names = new Map(devices.map((device) => [device.device_id, device.name]))
  const sentence = `${formatNumber(changed)} changed, ${formatNumber(unchanged)} unchanged, ${formatNumber(failed)} failed`
  const save = () => {
    const rows = results.map(({ device_id, outcome, error = '' }) => ({ device_id, outcome, error }))
    saveFile('devices-result.csv', 'text/csv', toCsv(rows))
  }
  return (
    <Dialog
      title={title}
      wide
      onClose={onClose}
      footer={
        <>
          <Button kind="ghost" icon="download" onClick={save}>
            Download all results
          </Button>
          <span className="grow" />
          <Button kind="primary" autoFocus onClick={onClose}>
            Close
          </Button>
        </>
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
      {others.length > 0 && (
        <ul className="objects">
          {others.slice(0, most).map((r) => (
            <li key={r.device_id}>
              <span className={r.outcome === 'failed' ? 'd bad' : 'd off'} />
              {names.has(r.device_id) && <span className="strong">{names.get(r.device_id)}</span>}
              <CopyId id={r.device_id} />
              <span className="push soft">{r.outcome === 'failed' ? (r.error ?? 'failed') : 'no change'}</span>
            </li>
          ))}
          {others.length > most && <li className="more">and {formatNumber(others.length - most)} more, in the file</li>}
        </ul>
      )}
    </Dialog>
  )
}
