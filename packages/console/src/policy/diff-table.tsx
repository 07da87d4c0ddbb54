import { useState } from 'react'
import { Button } from '../ui/button.tsx'
import { formatCount } from '../ui/format.ts'
import type { Line } from './line-diff.ts'

const signs = { same: '', add: '+', del: '−' } as const
const words = { same: '', add: 'added: ', del: 'removed: ' } as const
/** Lines shown at first. */
const first = 400

/** Lines of two texts: numbers, sign, and the words that differ. */
export function DiffTable({ lines, label }: { lines: readonly Line[]; label: string }) {
  const [most, setMost] = useState(first)
  const hidden = lines.length - most
  return (
    <>
      <div className="tw">
        <table className="diff" aria-label={label}>
          <tbody>
            {lines.slice(0, most).map((line, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the lines do not change
              <DiffLine key={place} line={line} />
            ))}
          </tbody>
        </table>
      </div>
      {hidden > 0 && (
        <div className="row">
          <Button size="sm" kind="ghost" onClick={() => setMost(most + 10 * first)}>
            Show {formatCount(Math.min(hidden, 10 * first), 'more line', 'more lines')}
          </Button>
        </div>
      )}
    </>
  )
}

function DiffLine({ line }: { line: Line }) {
  if (line.kind === 'skip')
    return (
      <tr className="hunk">
        <td colSpan={4}>{formatCount(line.count, 'unchanged line')}</td>
      </tr>
    )
  const { kind, before, after, pieces } = line
  const Marked = kind === 'add' ? 'ins' : 'del'
  return (
    <tr className={kind === 'same' ? undefined : kind}>
      <td>{before}</td>
      <td>{after}</td>
      <td aria-hidden="true">{signs[kind]}</td>
      <td>
        {kind !== 'same' && <span className="vh">{words[kind]}</span>}
        {pieces.map(({ text, isMarked }, place) =>
          // biome-ignore lint/suspicious/noArrayIndexKey: the pieces do not change
          isMarked ? <Marked key={place}>{text}</Marked> : text,
        )}
      </td>
    </tr>
  )
}
