import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'

/** Stores proofs in a batch. Returns for each whether it is new. */
export async function rememberProofs(tx: Tx, proofs: readonly Buffer[], expiresAt: Date): Promise<boolean[]> {
  const { rows } = await sql<{ proof: Buffer }>`
    insert into proofs_seen (proof, expires_at)
    select p, ${expiresAt} from unnest(${proofs}::bytea[]) as p order by p
    on conflict (proof) do nothing returning proof`.execute(tx)
  const first = new Set(rows.map((r) => r.proof.toString('base64')))
  // A proof that occurs twice in a batch is returned once, and counts once.
  return proofs.map((p) => first.delete(p.toString('base64')))
}

export const forgetProofs = (tx: Tx, before: Date) =>
  tx.deleteFrom('proofs_seen').where('expires_at', '<', before).execute()
