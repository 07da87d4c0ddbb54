import { BadRecord } from './bad-record.ts'
import type { Finding } from './chain.ts'
import type { Known } from './keys.ts'

/** What was signed of a record, with which it is compared. */
export type Witness = {
  /** The smallest first. */
  checkpoints: AsyncIterable<Known>
  /** The record is as long as these, or was cut. */
  reached: readonly Known[]
  /** Whether one goes on from the other; unknown where nobody can be asked. */
  follows?: (from: Known, to: Known) => Promise<boolean>
}

/**
 * Compares a record with its checkpoints while it is read. Where a hash does not fit, either the event is another, or
 * the hash before it is; which one is told by the next checkpoint, since its root is over the hashes alone.
 */
export async function createComparison({ checkpoints, reached, follows }: Witness) {
  const all = checkpoints[Symbol.asyncIterator]()
  let next = await all.next()
  /** Checkpoints of the last place, until the next one has said whether its hash fits. */
  const pending: { known: Known; root: Buffer | undefined }[] = []
  let suspect: BadRecord | undefined
  /** All hashes up to here are those that were signed. */
  let proven = 0
  let compared: Known | undefined
  let [count, unsigned] = [0, 0]

  async function compare(known: Known, root: Buffer | undefined): Promise<void> {
    const isSame = root?.equals(known.root)
    if (suspect && isSame === false)
      throw new BadRecord(suspect.seq - 1, 'its hash is not the one that was signed: what follows went on from another')
    if (suspect) throw suspect
    if (isSame === false)
      throw new BadRecord(proven + 1, `from here to place ${known.size} an event is not the one that was signed`)
    if (!root) {
      if (!compared || !follows) return
      if (!(await follows(compared, known)))
        throw new BadRecord(compared.size + 1, `what was signed up to place ${known.size} does not go on from here`)
    }
    if (root) proven = known.size
    compared = known
    count++
    if (!known.isSigned) unsigned++
  }
  async function settle(): Promise<void> {
    for (const { known, root } of pending.splice(0)) await compare(known, root)
  }

  return {
    /** The next place, what is wrong with it, and the root up to it. Throws `BadRecord`. */
    take: async (seq: number, finding: Finding | undefined, root: () => Buffer | undefined): Promise<void> => {
      if (suspect && finding) throw suspect
      if (finding?.is === 'unfit') suspect = finding.bad
      if (pending.length > 0) await settle()
      // Of places that are not there.
      for (; !next.done && next.value.size < seq; next = await all.next()) await compare(next.value, undefined)
      if (suspect && suspect.seq <= proven + 1) throw suspect
      for (; !next.done && next.value.size === seq; next = await all.next())
        pending.push({ known: next.value, root: root() })
    },
    /** After the last place. Throws `BadRecord`. */
    end: async (last: number, isWhole: boolean) => {
      await settle()
      if (suspect) throw new BadRecord(suspect.seq, `${suspect.message}; or the one before it is not`)
      for (const { size } of isWhole ? reached : [])
        if (size > last) throw new BadRecord(last + 1, `it is missing: ${size} places were signed, and here it ends`)
      return { compared, count, unsigned }
    },
  }
}
