import { Button } from '../ui/button.tsx'
import { CopyId } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { formatNumber } from '../ui/format.ts'
import { StackBar } from '../ui/progress.tsx'
import { saveFile } from '../ui/save-file.ts'
import { toCsv } from './csv.ts'

/** Result of one object. */
export type BulkOutcome = { id: string; outcome: 'changed' | 'unchanged' | 'failed'; error?: string | undefined }
type Props = {
  title: string
  results: readonly BulkOutcome[]
  /** Names of the shown objects by id. */
  names: ReadonlyMap<string, string>
  /** Name of the file, and of its column with the ids. */
  file: { name: string; idColumn: string }
  onClose: () => void
}
const most = 100

/** Result of a bulk change: the totals in a sentence, each object that was not changed, and all objects as a file. */
export function BulkResult({ title, results, names, file, onClose }: Props) {
  const count = (outcome: BulkOutcome['outcome']) => results.filter((r) => r.outcome === outcome).length
  const [changed, unchanged, failed] = [count('changed'), count('unchanged'), count('failed')]
  // Failures come first: they need further work.
  const others = [...results.filter((r) => r.outcome === 'failed'), ...results.filter((r) => r.outcome === 'unchanged')]
  const sentence = `${formatNumber(changed)} changed, ${formatNumber(unchanged)} unchanged, ${formatNumber(failed)} failed`
  const save = () => {
    const rows = results.map(({ id, outcome, error = '' }) => ({ [file.idColumn]: id, outcome, error }))
    saveFile(file.name, 'text/csv', toCsv(rows))
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
            <li key={r.id}>
              <span className={r.outcome === 'failed' ? 'd bad' : 'd off'} />
              {names.has(r.id) && <span className="strong">{names.get(r.id)}</span>}
              <CopyId id={r.id} />
              <span className="push soft">{r.outcome === 'failed' ? (r.error ?? 'failed') : 'no change'}</span>
            </li>
          ))}
          {others.length > most && <li className="more">and {formatNumber(others.length - most)} more, in the file</li>}
        </ul>
      )}
    </Dialog>
  )
}
