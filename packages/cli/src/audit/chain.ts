import { auditHash, leafHash, noHash } from '@holdfast/crypto'
import { BadRecord } from './bad-record.ts'
import type { Place } from './line.ts'
import { createTrail } from './trail.ts'

/** Start of a partial audit log: the sequence number before it, its hash, and the tree up to it. */
export type Start = { seq: number; hash: Buffer; peaks: readonly Buffer[] }
/**
 * A fault at a sequence number: events are missing before it, or its hash does not match the event and the previous
 * hash.
 */
export type Finding = { is: 'gap' | 'unfit'; bad: BadRecord }

const start: Start = { seq: 0, hash: noHash, peaks: [] }
const trailFrom = ({ seq, peaks }: Start) => createTrail({ size: seq, peaks })

/**
 * Reads an audit log event by event and keeps the last hashes. Without a start it begins at sequence number 1; if the
 * first event has a higher one, the hash of that event is accepted unchecked.
 */
export function createChain(from?: Start) {
  let last: Pick<Start, 'seq' | 'hash'> | undefined = from
  let tree: ReturnType<typeof createTrail> | undefined = from && trailFrom(from)
  let first: Place | undefined
  /** Sequence number of the first event with an unchecked hash. */
  let believed: number | undefined
  let before: Buffer | undefined

  function judge({ seq, hash, record }: Place, previous: Pick<Start, 'seq' | 'hash'>): Finding | undefined {
    const expected = previous.seq + 1
    if (seq > expected)
      return { is: 'gap', bad: new BadRecord(expected, `it is missing: sequence number ${seq} follows`) }
    if (seq < expected) throw new BadRecord(seq, `it follows sequence number ${previous.seq}: it was inserted or moved`)
    if (auditHash(previous.hash, seq, record).equals(hash)) return undefined
    // The previous event was inserted with a matching hash, and the original one follows it.
    if (before && auditHash(before, seq - 1, record).equals(hash))
      throw new BadRecord(seq - 1, 'it was inserted: the original event follows it')
    return { is: 'unfit', bad: new BadRecord(seq, 'its hash is wrong: the event was altered') }
  }

  return {
    /** Continues from the present event even if it is wrong. Throws `BadRecord` if the order is broken. */
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
    /** Root over all events so far; undefined if the earlier events are not known. */
    root: () => tree?.root(),
    /** Root up to one of the last events. */
    rootAt: (size: number) => tree?.rootAt(size),
    /** The smallest size with a known root. */
    get rootsSince() {
      return tree?.since ?? 0
    },
    /** For a partial log: true if its first event follows this hash. */
    firstFollows: (hash: Buffer): boolean => !!first && auditHash(hash, first.seq, first.record).equals(first.hash),
  }
}
export type Chain = ReturnType<typeof createChain>
