import { BadRecord } from './bad-record.ts'
import type { Chain, Finding } from './chain.ts'
import { type Known, vouches } from './keys.ts'

/** Signed data to compare an audit log with. */
export type Witness = {
  /** The smallest first. */
  checkpoints: AsyncIterable<Known>
  /** Checkpoints that the log must reach; otherwise it was cut. */
  reached: readonly Known[]
  /** Returns whether a checkpoint's tree extends a smaller tree. Undefined without a server. */
  follows?: (from: { size: number; root: Buffer }, to: Known) => Promise<boolean>
}

/** Result of a successful comparison. */
export type Said = {
  /** The largest trusted checkpoint. */
  compared: Known | undefined
  /** The largest checkpoint signed by a key of the trust set. */
  signed: Known | undefined
  brought: ReadonlySet<Known>
  count: number
  unsigned: number
}

const larger = (a: Known | undefined, b: Known): Known => (a && a.size > b.size ? a : b)

/**
 * Compares an audit log with its checkpoints while it is read. If a hash does not match, either the event or the
 * previous hash is wrong. The next checkpoint decides, since its root covers only the hashes.
 */
export async function createComparison({ checkpoints, reached, follows }: Witness) {
  const all = checkpoints[Symbol.asyncIterator]()
  let next = await all.next()
  /** The first event with a wrong hash. */
  let suspect: BadRecord | undefined
  /** All hashes up to this sequence number match a trusted checkpoint. */
  let proven = 0
  /** The last matching checkpoint. */
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

  /**
   * Finds, by consistency proofs of the server, the largest part of this log that is contained in a checkpoint with
   * another root.
   */
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
      // The log is bad in any case. Without an answer the position is less exact.
      if (follows && vouches(known)) await narrow(known, chain).catch(() => undefined)
      if (!suspect || suspect.seq > proven) throw unlike(known.size)
    }
    if (suspect && suspect.seq <= proven) throw suspect
  }
  /**
   * Describes a log with another root than the signed one. The wrong event is at the first hash that does not match, or
   * before it.
   */
  function unlike(size: number): BadRecord {
    const [first, latest] = [proven + 1, Math.min(size, suspect?.seq ?? size)]
    const where = first < latest ? `an event from here to sequence number ${latest}` : 'it'
    return new BadRecord(first, `${where} differs from the signed event`, latest)
  }

  return {
    /** For a partial log: compares the checkpoints before its start with the one that proves the start. */
    begin: async (first: number, proof: Known): Promise<void> => {
      for (; !next.done && next.value.size < first; next = await all.next()) {
        if (follows && !(await follows(next.value, proof))) throw unlike(next.value.size)
        fits(next.value)
      }
      proven = first
    },
    /** Takes the next event and its fault. Throws `BadRecord`. */
    take: async (seq: number, finding: Finding | undefined, chain: Chain): Promise<void> => {
      // Skips checkpoints of missing events.
      while (!next.done && next.value.size < seq) next = await all.next()
      if (finding?.is === 'unfit') suspect ??= finding.bad
      if (suspect && suspect.seq <= proven) throw suspect
      for (; !next.done && next.value.size === seq; next = await all.next())
        await compare(next.value, chain.root(), chain)
    },
    /** Called after the last event, with the checkpoint in the manifest. Throws `BadRecord`. */
    end: async (chain: Chain, isWhole: boolean, carried?: Known): Promise<void> => {
      const last = chain.last?.seq ?? 0
      if (carried && carried.note !== newest?.note) {
        const same = newest?.size === carried.size ? newest.root : undefined
        await compare(carried, chain.rootAt(carried.size) ?? same, chain)
      }
      if (suspect)
        throw new BadRecord(suspect.seq, `${suspect.message}; or an earlier event from ${proven + 1} on was altered`)
      if (isWhole)
        for (const { size } of [...reached, ...(carried ? [carried] : [])])
          if (size > last)
            throw new BadRecord(last + 1, `it is missing: ${size} events were signed, and the log ends here`)
    },
    said: (): Said => ({ compared, signed, brought, count, unsigned }),
  }
}
