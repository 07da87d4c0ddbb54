import { auditHash, leafHash, noHash } from '@holdfast/crypto'
import { BadRecord } from './bad-record.ts'
import type { Place } from './line.ts'
import { createTrail } from './trail.ts'

/** Where a record begins that is not whole: the place before, its hash and the tree up to it. */
export type Start = { seq: number; hash: Buffer; peaks: readonly Buffer[] }
/** What is wrong with a place: others may stand between, or its hash is not of what stands before it and there. */
export type Finding = { is: 'gap' | 'unfit'; bad: BadRecord }

const start: Start = { seq: 0, hash: noHash, peaks: [] }
const trailFrom = ({ seq, peaks }: Start) => createTrail({ size: seq, peaks })

/**
 * Reads a record place by place and keeps the last hashes of it. Without a start it begins at place 1, or, where that
 * is not the first there is, takes the hash of its first place as it stands.
 */
export function createChain(from?: Start) {
  let last: Pick<Start, 'seq' | 'hash'> | undefined = from
  let tree: ReturnType<typeof createTrail> | undefined = from && trailFrom(from)
  let first: Place | undefined
  /** The first place whose hash nothing before it says is right. */
  let believed: number | undefined
  let before: Buffer | undefined

  function judge({ seq, hash, record }: Place, previous: Pick<Start, 'seq' | 'hash'>): Finding | undefined {
    const expected = previous.seq + 1
    if (seq > expected) return { is: 'gap', bad: new BadRecord(expected, `it is missing: place ${seq} follows`) }
    if (seq < expected) throw new BadRecord(seq, `it stands behind place ${previous.seq}: put in, or moved`)
    if (auditHash(previous.hash, seq, record).equals(hash)) return undefined
    // What was at the place before was made to fit, and what was there stands behind it.
    if (before && auditHash(before, seq - 1, record).equals(hash))
      throw new BadRecord(seq - 1, 'it was put in: what it pushed away stands behind it')
    return { is: 'unfit', bad: new BadRecord(seq, 'its hash does not fit: it is not what was recorded there') }
  }

  return {
    /** Goes on from what stands there, also where that is wrong. Throws `BadRecord` where the order is broken. */
    take: (place: Place): Finding | undefined => {
      if (!last && place.seq === 1) {
        last = start
        tree = trailFrom(start)
      }
      const finding = last && judge(place, last)
      if (!last || finding?.is === 'gap') {
        believed ??= place.seq
        tree = undefined
        before = undefined
      } else before = last.hash
      first ??= place
      last = { seq: place.seq, hash: place.hash }
      tree?.append(leafHash(place.hash))
      return finding
    },
    get first() {
      return first
    },
    get last() {
      return last
    },
    get believed() {
      return believed
    },
    /** Of all up to the last place; undefined where what came before is not known. */
    root: () => tree?.root(),
    /** Of all up to a place that is not long ago. */
    rootAt: (size: number) => tree?.rootAt(size),
    /** The first place of which it has that. */
    get rootsSince() {
      return tree?.since ?? 0
    },
    /** Of a record that begins in the middle: whether its first place goes on from this hash. */
    firstFollows: (hash: Buffer): boolean => !!first && auditHash(hash, first.seq, first.record).equals(first.hash),
  }
}
export type Chain = ReturnType<typeof createChain>
