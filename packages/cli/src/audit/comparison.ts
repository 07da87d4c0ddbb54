import { BadRecord } from './bad-record.ts'
import type { Chain, Finding } from './chain.ts'
import { type Known, vouches } from './keys.ts'

/** What was signed of a record, with which it is compared. */
export type Witness = {
  /** The smallest first. */
  checkpoints: AsyncIterable<Known>
  /** The record is as long as these, or was cut. */
  reached: readonly Known[]
  /** Whether what a checkpoint is of begins with a smaller tree; unknown where nobody can be asked. */
  follows?: (from: { size: number; root: Buffer }, to: Known) => Promise<boolean>
}

/** What a record was compared with, and fits. */
export type Said = {
  /** The last one that counts. */
  compared: Known | undefined
  /** The last one by a key of the trust set. */
  signed: Known | undefined
  brought: ReadonlySet<Known>
  count: number
  unsigned: number
}

const larger = (a: Known | undefined, b: Known): Known => (a && a.size > b.size ? a : b)

/**
 * Compares a record with its checkpoints while it is read. Where a hash does not fit, either the event is another, or
 * the hash before it is; which one is told by the next checkpoint, since its root is over the hashes alone.
 */
export async function createComparison({ checkpoints, reached, follows }: Witness) {
  const all = checkpoints[Symbol.asyncIterator]()
  let next = await all.next()
  /** The first place whose hash does not fit. */
  let suspect: BadRecord | undefined
  /** All hashes up to here are those that somebody who counts has signed. */
  let proven = 0
  /** The last one that fits. */
  let newest: Known | undefined
  let compared: Known | undefined
  let signed: Known | undefined
  const brought = new Set<Known>()
  let [count, unsigned] = [0, 0]

  function fits(known: Known): void {
    count++
    newest = known
    if (known.isSigned) signed = larger(signed, known)
    else unsigned++
    if (known.isBrought) brought.add(known)
    if (!vouches(known)) return
    proven = Math.max(proven, known.size)
    compared = larger(compared, known)
  }

  /** By proofs of the server, from how far on what is here leads to a checkpoint that it does not have the root of. */
  async function narrow(known: Known, chain: Chain): Promise<void> {
    let end = known.size
    for (let size = Math.max(proven + 1, chain.rootsSince); size > proven && size < end; ) {
      const root = chain.rootAt(size)
      if (root && (await follows?.({ size, root }, known))) proven = size
      else end = size
      size = Math.floor((proven + end) / 2)
    }
  }

  async function compare(known: Known, root: Buffer | undefined, chain: Chain): Promise<void> {
    if (!root) return
    if (root.equals(known.root)) fits(known)
    else {
      // It is bad whatever is answered; without an answer less is known of where.
      if (follows && vouches(known)) await narrow(known, chain).catch(() => undefined)
      if (!suspect || suspect.seq > proven) throw unlike(known.size)
    }
    if (suspect && suspect.seq <= proven) throw suspect
  }
  /** The hash that is another is not behind the first that does not fit: there the event would be. */
  function unlike(size: number): BadRecord {
    const [first, latest] = [proven + 1, Math.min(size, suspect?.seq ?? size)]
    const where = first < latest ? `from here to place ${latest} an event` : 'it'
    return new BadRecord(first, `${where} is not the one that was signed`, latest)
  }

  return {
    /** Of a record that begins later: those of the places before, which lead to the one that proves its beginning. */
    begin: async (first: number, proof: Known): Promise<void> => {
      for (; !next.done && next.value.size < first; next = await all.next()) {
        if (follows && !(await follows(next.value, proof))) throw unlike(next.value.size)
        fits(next.value)
      }
      proven = first
    },
    /** The next place, and what is wrong with it. Throws `BadRecord`. */
    take: async (seq: number, finding: Finding | undefined, chain: Chain): Promise<void> => {
      // Of places that are not there.
      while (!next.done && next.value.size < seq) next = await all.next()
      if (finding?.is === 'unfit') suspect ??= finding.bad
      if (suspect && suspect.seq <= proven) throw suspect
      for (; !next.done && next.value.size === seq; next = await all.next())
        await compare(next.value, chain.root(), chain)
    },
    /** After the last place, with the checkpoint that its manifest carries. Throws `BadRecord`. */
    end: async (chain: Chain, isWhole: boolean, carried?: Known): Promise<void> => {
      const last = chain.last?.seq ?? 0
      if (carried && carried.note !== newest?.note) {
        const same = newest?.size === carried.size ? newest.root : undefined
        await compare(carried, chain.rootAt(carried.size) ?? same, chain)
      }
      if (suspect)
        throw new BadRecord(suspect.seq, `${suspect.message}; or one before it is not, from ${proven + 1} on`)
      if (isWhole)
        for (const { size } of [...reached, ...(carried ? [carried] : [])])
          if (size > last) throw new BadRecord(last + 1, `it is missing: ${size} places were signed, and here it ends`)
    },
    said: (): Said => ({ compared, signed, brought, count, unsigned }),
  }
}
