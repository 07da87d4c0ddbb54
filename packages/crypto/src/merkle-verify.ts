import { nodeHash } from './merkle.ts'

const half = (n: number) => Math.floor(n / 2)
const isOdd = (n: number) => n % 2 === 1
const isCount = (n: number) => Number.isSafeInteger(n) && n >= 0

/** RFC 9162 §2.1.3.2 */
export function isIncluded(
  { leaf, index, size }: { leaf: Buffer; index: number; size: number },
  path: readonly Buffer[],
  root: Buffer,
): boolean {
  if (!isCount(index) || !isCount(size) || index >= size) return false
  let [f, s, r] = [index, size - 1, leaf]
  for (const p of path) {
    if (s === 0) return false
    if (isOdd(f) || f === s) {
      r = nodeHash(p, r)
      while (!isOdd(f) && f > 0) [f, s] = [half(f), half(s)]
    } else r = nodeHash(r, p)
    ;[f, s] = [half(f), half(s)]
  }
  return s === 0 && r.equals(root)
}

type Head = { size: number; root: Buffer }
/** True if the larger tree extends the smaller one (RFC 9162 §2.1.4.2). */
export function isConsistent(from: Head, to: Head, path: readonly Buffer[]): boolean {
  if (!isCount(from.size) || !isCount(to.size) || from.size === 0 || from.size > to.size) return false
  if (from.size === to.size) return path.length === 0 && from.root.equals(to.root)
  let [f, s] = [from.size - 1, to.size - 1]
  while (isOdd(f)) [f, s] = [half(f), half(s)]
  // If the smaller size is a power of two, the smaller tree is a complete subtree.
  const [first, ...rest] = f === 0 ? [from.root, ...path] : path
  if (!first || path.length === 0) return false
  let [fr, sr] = [first, first]
  for (const c of rest) {
    if (s === 0) return false
    if (isOdd(f) || f === s) {
      fr = nodeHash(c, fr)
      sr = nodeHash(c, sr)
      while (!isOdd(f) && f > 0) [f, s] = [half(f), half(s)]
    } else sr = nodeHash(sr, c)
    ;[f, s] = [half(f), half(s)]
  }
  return s === 0 && fr.equals(from.root) && sr.equals(to.root)
}

/** Returns the peaks to the left of a leaf in its inclusion proof: all leaves before it, as a tree that can grow. */
export function peaksBefore(index: number, size: number, path: readonly Buffer[]): Buffer[] {
  const peaks: Buffer[] = []
  let [f, s] = [index, size - 1]
  for (const p of path) {
    if (isOdd(f) || f === s) {
      peaks.unshift(p)
      while (!isOdd(f) && f > 0) [f, s] = [half(f), half(s)]
    }
    ;[f, s] = [half(f), half(s)]
  }
  return peaks
}
