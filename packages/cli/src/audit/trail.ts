import { createGrowingTree } from '@holdfast/crypto'

const hashBytes = 32
const leavesOfPart = 65_536
const mostParts = 8

type Part = { size: number; peaks: Buffer[]; leaves: Buffer; used: number }

/** The tree over an audit log, with the roots at the last half million sizes, in 16 MiB. */
export function createTrail(from: { size: number; peaks: readonly Buffer[] }) {
  const tree = createGrowingTree(from)
  const parts: Part[] = []

  function begin(): Part {
    const gone = parts.length === mostParts ? parts.shift() : undefined
    const leaves = gone?.leaves ?? Buffer.allocUnsafeSlow(leavesOfPart * hashBytes)
    const part = { size: tree.size, peaks: tree.peaks(), leaves, used: 0 }
    parts.push(part)
    return part
  }

  return {
    append: (leaf: Buffer): void => {
      const last = parts.at(-1)
      const part = last && last.used < last.leaves.length ? last : begin()
      part.used += leaf.copy(part.leaves, part.used)
      tree.append(leaf)
    },
    root: (): Buffer => tree.root(),
    /** The smallest size with a known root. */
    get since() {
      return parts[0]?.size ?? tree.size
    },
    rootAt: (size: number): Buffer | undefined => {
      const part = parts.findLast((p) => p.size <= size)
      if (!part || size > tree.size) return undefined
      const upTo = createGrowingTree(part)
      for (let at = 0; upTo.size < size; at += hashBytes) upTo.append(part.leaves.subarray(at, at + hashBytes))
      return upTo.root()
    },
  }
}
