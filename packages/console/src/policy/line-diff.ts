import { diffArrays, diffWordsWithSpace } from 'diff'

/** Part of a line; `isMarked` for the words that differ. */
type Piece = { text: string; isMarked: boolean }
export type Line =
  | { kind: 'same' | 'add' | 'del'; before?: number; after?: number; pieces: readonly Piece[] }
  | { kind: 'skip'; count: number }

/** Duration after which the comparison stops, for documents that have hardly a line in common. */
const patienceMs = 1_000

type Numbered = { text: string; line: number }
const noLines: readonly string[] = []
const linesOf = (side: Numbered | undefined) => side?.text.split('\n') ?? noLines

/**
 * Compares two texts by line. Removed lines with as many added ones after them are also compared by word.
 *
 * @param context unchanged lines to keep around a change; all lines if it is undefined
 */
export function diffLines(before: Numbered | undefined, after: Numbered | undefined, context?: number): Line[] {
  const [old, now] = [linesOf(before), linesOf(after)]
  const found = diffArrays([...old], [...now], { timeout: patienceMs }) ?? [
    { removed: true, added: false, value: [...old] },
    { removed: false, added: true, value: [...now] },
  ]
  const lines: Line[] = []
  let [left, right] = [before?.line ?? 1, after?.line ?? 1]
  for (const [i, { added, removed, value }] of found.entries()) {
    const beside = removed ? found[i + 1] : added ? found[i - 1] : undefined
    const pair = beside && (removed ? beside.added : beside.removed) ? beside.value : undefined
    for (const [at, text] of value.entries()) {
      const other = pair?.length === value.length ? pair[at] : undefined
      const pieces =
        other === undefined ? [plain(text)] : wordsOf(removed ? text : other, removed ? other : text, removed)
      if (removed) lines.push({ kind: 'del', before: left++, pieces })
      else if (added) lines.push({ kind: 'add', after: right++, pieces })
      else lines.push({ kind: 'same', before: left++, after: right++, pieces })
    }
  }
  return context === undefined ? lines : shortened(lines, context)
}

const plain = (text: string): Piece => ({ text, isMarked: false })

/** Words of the removed line, or of the added one. */
const wordsOf = (removed: string, added: string, isOld: boolean): Piece[] =>
  diffWordsWithSpace(removed, added)
    .filter((word) => (isOld ? !word.added : !word.removed))
    .map((word) => ({ text: word.value, isMarked: word.added || word.removed }))

/** Replaces unchanged lines far from a change with their number. */
function shortened(lines: readonly Line[], context: number): Line[] {
  const isNear = new Uint8Array(lines.length)
  for (const [i, { kind }] of lines.entries())
    if (kind !== 'same') isNear.fill(1, Math.max(0, i - context), i + context + 1)
  const shown: Line[] = []
  for (const [i, line] of lines.entries()) {
    const last = shown.at(-1)
    if (isNear[i]) shown.push(line)
    else if (last?.kind === 'skip') shown[shown.length - 1] = { kind: 'skip', count: last.count + 1 }
    else shown.push({ kind: 'skip', count: 1 })
  }
  return shown
}
