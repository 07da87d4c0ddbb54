import type { Tx } from '../../db/database.ts'
import { minute } from '../../kernel/time.ts'
import { proofExpiry, rememberProofs } from '../devices/index.ts'
import { challengeLife } from './challenge.ts'

/** Single-use values of an applicant. */
export type Once = { proof: Buffer | null; ticket: Buffer | null }
/** Applicants with a value that was used before, by their index in the batch. */
export type Again = { replayed: ReadonlySet<number>; spent: ReadonlySet<number> }

/** Stores single-use values, proofs of a key and tickets, until they expire. Returns those used before. */
export async function spendProofs(tx: Tx, batch: readonly Once[], at: Date): Promise<Again> {
  const valuesOf = (what: keyof Once) =>
    batch.flatMap(({ [what]: once }, place) => (once === null ? [] : [{ place, once }]))
  const proofs = valuesOf('proof')
  const tickets = valuesOf('ticket')
  const all = [...proofs, ...tickets]
  const until = tickets.length > 0 ? new Date(at.getTime() + challengeLife + minute) : proofExpiry(at)
  const isFirst =
    all.length === 0
      ? []
      : await rememberProofs(
          tx,
          all.map((p) => p.once),
          until,
        )
  const again = (list: typeof all, from: number) =>
    new Set(list.filter((_, i) => !isFirst[from + i]).map((p) => p.place))
  return { replayed: again(proofs, 0), spent: again(tickets, proofs.length) }
}
