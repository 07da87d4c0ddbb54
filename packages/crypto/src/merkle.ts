import { hash } from 'node:crypto'

/** The leaves from `start` up to, but not including, `end`. */
export type Span = readonly [start: number, end: number]
/** A complete subtree: the `2 ** height` leaves from `index * 2 ** height` on. */
export type MerkleNode = { height: number; index: number }

const sha256 = (...parts: Uint8Array[]): Buffer => hash('sha256', Buffer.concat(parts), 'buffer')
const leafPrefix = Buffer.of(0)
const nodePrefix = Buffer.of(1)

/** RFC 9162 §2.1.1 */
export const leafHash = (entry: Uint8Array): Buffer => sha256(leafPrefix, entry)
export const nodeHash = (left: Uint8Array, right: Uint8Array): Buffer => sha256(nodePrefix, left, right)

/**
 * Returns the largest power of two that is not greater than `count`. Sizes may exceed 32 bits, so nothing here shifts
 * bits.
 */
function powerIn(count: number): number {
  let power = 1
  while (power * 2 <= count) power *= 2
  return power
}
/** Returns the split of a tree with several leaves: its left part has the largest power of two below its size. */
const split = ([start, end]: Span): number => start + powerIn(end - start - 1)

/** Returns the spans whose hashes prove that a leaf is in a tree, from the leaf upwards (RFC 9162 §2.1.3.1). */
export function inclusionSpans(index: number, size: number): Span[] {
  const path: Span[] = []
  for (let span: Span = [0, size]; span[1] - span[0] > 1; ) {
    const middle = split(span)
    const [left, right]: [Span, Span] = [
      [span[0], middle],
      [middle, span[1]],
    ]
    path.unshift(index < middle ? right : left)
    span = index < middle ? left : right
  }
  return path
}

/** Returns the spans whose hashes prove that a tree extends a smaller one (RFC 9162 §2.1.4.1); 0 < `from` ≤ `to`. */
export function consistencySpans(from: number, to: number): Span[] {
  const path: Span[] = []
  let span: Span = [0, to]
  while (span[1] !== from) {
    const middle = split(span)
    const [left, right]: [Span, Span] = [
      [span[0], middle],
      [middle, span[1]],
    ]
    path.unshift(from <= middle ? right : left)
    span = from <= middle ? left : right
  }
  // The verifier already has the hash of the whole smaller tree.
  return span[0] === 0 ? path : [span, ...path]
}

/** Returns the complete subtrees of a span, from the left. */
export function nodesOf([start, end]: Span): MerkleNode[] {
  const nodes: MerkleNode[] = []
  for (let at = start; at < end; ) {
    const width = powerIn(end - at)
    nodes.push({ height: Math.log2(width), index: at / width })
    at += width
  }
  return nodes
}

/**
 * Returns the hash of a span from those of its complete subtrees, from the left. Without any, that of an empty tree.
 */
export function joined(hashes: readonly Buffer[]): Buffer {
  const last = hashes.at(-1)
  return last ? hashes.slice(0, -1).reduceRight((right, left) => nodeHash(left, right), last) : sha256()
}

/** Returns the root over leaf hashes, or over the roots of complete subtrees of equal size. */
export function rootOver(hashes: readonly Buffer[]): Buffer {
  let row = hashes
  // A last one without a partner moves up unchanged, which gives the same tree (RFC 9162 §2.1.1).
  while (row.length > 1)
    row = Array.from({ length: Math.ceil(row.length / 2) }, (_, i) =>
      2 * i + 1 < row.length ? nodeHash(row[2 * i]!, row[2 * i + 1]!) : row[2 * i]!,
    )
  return row[0] ?? sha256()
}

/** An append-only tree that keeps only its peaks: at most one hash for each bit of its size. */
export function createGrowingTree(
  { size, peaks }: { size: number; peaks: readonly Buffer[] } = { size: 0, peaks: [] },
) {
  const held = [...peaks]
  let count = size
  return {
    get size() {
      return count
    },
    append: (leaf: Buffer): void => {
      let right = leaf
      for (let n = count; n % 2 === 1; n = (n - 1) / 2) right = nodeHash(held.pop()!, right)
      held.push(right)
      count++
    },
    root: (): Buffer => joined(held),
    /** Returns the state from which another instance can continue. */
    peaks: (): Buffer[] => [...held],
  }
}
