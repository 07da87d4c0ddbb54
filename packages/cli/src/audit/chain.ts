import { auditHash, canonicalJson, createGrowingTree, leafHash, noHash } from '@holdfast/crypto'

/** The record is not what was recorded, or signed: from this place on, as far as can be told. */
export class BadRecord extends Error {
  override readonly name = 'BadRecord'
  readonly seq: number

  constructor(seq: number, message: string) {
    super(message)
    this.seq = seq
  }
}

const hexHash = /^[0-9a-f]{64}$/
/** A place, its hash as the record has it, and what the event says, as RFC 8785 writes it. */
type Place = { seq: number; hash: string; record: string }

/** Throws `BadRecord`, for the place that was to come. */
function placeOf(event: Readonly<Record<string, unknown>>, expected: number): Place {
  const { seq, hash, ...rest } = event
  if (typeof seq !== 'number' || !Number.isSafeInteger(seq) || seq < 1)
    throw new BadRecord(expected, 'what stands there has no place (seq)')
  if (typeof hash !== 'string' || !hexHash.test(hash)) throw new BadRecord(seq, 'it has no hash')
  return { seq, hash, record: canonicalJson(rest) }
}

/** Where a record begins that is not whole: the place before, its hash and the tree up to it. */
export type Start = { seq: number; hash: Buffer; peaks: readonly Buffer[] }

/**
 * Reads a record place by place and keeps a few hashes of it. Without a start it begins at place 1, or, where that is
 * not the first there is, takes the hash of its first place as it stands: what that says is `unproven`.
 */
export function createChain(start?: Start) {
  let last = start && { seq: start.seq, hash: start.hash }
  let before: Buffer | undefined
  let first = start ? start.seq + 1 : undefined
  let unproven: Place | undefined
  let tree: ReturnType<typeof createGrowingTree> | undefined = start
    ? createGrowingTree({ size: start.seq, peaks: start.peaks })
    : undefined

  function begin(place: Place): void {
    first = place.seq
    if (place.seq === 1) {
      last = { seq: 0, hash: noHash }
      tree = createGrowingTree()
    } else unproven = place
  }
  function check({ seq, hash, record }: Place, { seq: lastSeq, hash: lastHash }: { seq: number; hash: Buffer }): void {
    const expected = lastSeq + 1
    if (seq > expected) throw new BadRecord(expected, `it is missing: place ${seq} follows`)
    if (seq < expected) throw new BadRecord(seq, `it stands there again, after place ${lastSeq}`)
    if (auditHash(lastHash, seq, record).toString('hex') === hash) return
    // What was at the place before was made to fit, and what was there stands behind it.
    if (before && auditHash(before, seq - 1, record).toString('hex') === hash)
      throw new BadRecord(seq - 1, 'it was put in: what it pushed away stands behind it')
    throw new BadRecord(seq, 'its hash does not fit: it is not what was recorded there')
  }

  return {
    take: (event: Readonly<Record<string, unknown>>): void => {
      const place = placeOf(event, (last?.seq ?? 0) + 1)
      if (first === undefined) begin(place)
      if (last) check(place, last)
      before = last?.hash
      last = { seq: place.seq, hash: Buffer.from(place.hash, 'hex') }
      tree?.append(leafHash(last.hash))
    },
    get first() {
      return first
    },
    get last() {
      return last
    },
    /** Of all up to the last place; undefined where what came before is not known. */
    root: () => tree?.root(),
    /** Proves the first place of a record that began without a start. Throws `BadRecord`. */
    proveFirst: (previous: Buffer): void => {
      if (!unproven) return
      const { seq, hash, record } = unproven
      if (auditHash(previous, seq, record).toString('hex') !== hash)
        throw new BadRecord(seq, 'its hash does not fit: it is not what was recorded there')
      unproven = undefined
    },
    get isProven() {
      return unproven === undefined
    },
  }
}
export type Chain = ReturnType<typeof createChain>
