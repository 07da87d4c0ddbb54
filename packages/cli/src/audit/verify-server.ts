import { pageItems } from '@holdfast/contract/limits'
import { isConsistent, isIncluded, leafHash, peaksBefore } from '@holdfast/crypto'
import { ApiError, type Client } from '@holdfast/sdk'
import { patiently } from '../patient.ts'
import { BadRecord, NoVerdict } from './bad-record.ts'
import type { Start } from './chain.ts'
import type { Witness } from './comparison.ts'
import { type Known, readCheckpoint, type Trusted } from './keys.ts'
import type { Place } from './line.ts'
import { linesOf } from './lines.ts'
import { verifyExport } from './verify-export.ts'

type Options = {
  client: Client
  scope: { tenant_id?: string }
  trusted: Trusted
  /** Returns the present keys. The server may have created one since. */
  trustedNow: () => Promise<Trusted>
  kept: Known | undefined
  progress: (events: number) => void
}
/** Longest wait in seconds for a free one of a tenant's two concurrent exports. */
const mostWait = 60
const hashes = (proof: readonly string[]) => proof.map((hash) => Buffer.from(hash, 'hex'))

/**
 * Verifies the audit log of a server from the first to the last event: the hash chain, and every checkpoint. Throws
 * `BadRecord`; any other error is no verdict.
 */
export async function verifyServer({ client, scope, trusted, trustedNow, kept, progress }: Options) {
  const read = (note: string) => readCheckpoint(note, trusted)
  const keptOnes = kept ? [kept] : []
  // Read before the export starts, so that the export contains all checkpoints signed until now.
  const [newest] = (await patiently(() => client.listAuditCheckpoints({ query: { ...scope, limit: 1 } }))).items
  const present = newest && read(newest.note)
  const reached = [...keptOnes, ...(present ? [present] : [])]

  async function* listed(): AsyncGenerator<Known> {
    let cursor: string | null = null
    let size = 0
    do {
      const query = { ...scope, sort: 'size', limit: pageItems.most, ...(cursor !== null && { cursor }) } as const
      const page: Awaited<ReturnType<Client['listAuditCheckpoints']>> = await patiently(() =>
        client.listAuditCheckpoints({ query }),
      )
      for (const { note } of page.items) {
        const known = read(note)
        if (known.size <= size) throw new BadRecord(known.size, 'a checkpoint is listed twice, or out of order')
        size = known.size
        yield known
      }
      cursor = page.next_cursor
    } while (cursor !== null)
  }

  /** Throws `BadRecord` unless the server reports the events up to this one as purged. */
  async function requirePurged(seq: number): Promise<void> {
    const { record_begins_after } = await patiently(() => client.getRetention({ query: scope }))
    const purged = record_begins_after?.seq ?? 0
    if (purged < seq) throw new BadRecord(purged + 1, `events ${purged + 1} to ${seq} are missing, and were not purged`)
  }

  /** Returns the start of a log with purged events, proven by a checkpoint of a trusted key. */
  async function startOf({ seq, hash, eventId }: Place): Promise<Start & { proof: Known }> {
    await requirePurged(seq - 1)
    const params = { event_id: eventId }
    const proven = await patiently(() => client.proveAuditEvent({ params, query: scope })).catch((e: unknown) => {
      if (e instanceof ApiError && e.code === 'not_found')
        throw new NoVerdict(`the server purged event ${seq} during the verification: verify again`)
      throw e
    })
    const { note } = proven.checkpoint
    const known = readCheckpoint(note, await trustedNow())
    if (!known.isSigned)
      throw new BadRecord(seq, 'the checkpoint that should prove it has no signature of a trusted key')
    const path = hashes(proven.proof)
    if (!isIncluded({ leaf: leafHash(hash), index: seq - 1, size: known.size }, path, known.root))
      throw new BadRecord(seq, 'it differs from the signed event')
    const peaks = peaksBefore(seq - 1, known.size, path)
    return { seq: seq - 1, hash: Buffer.from(proven.previous_hash, 'hex'), peaks, proof: known }
  }

  const follows: Witness['follows'] = async (from, to) => {
    if (from.size === to.size) return from.root.equals(to.root)
    const query = { ...scope, from: from.size, to: to.size }
    const { proof } = await patiently(() => client.proveAuditConsistency({ query }))
    return isConsistent(from, to, hashes(proof))
  }
  let asked = new Date()
  const exported = (await patiently(() => {
    asked = new Date()
    return client.exportAudit({ query: { ...scope, format: 'ndjson' } })
  }, mostWait)) as AsyncIterable<Uint8Array>
  const witness = { checkpoints: inOrder(keptOnes, listed()), reached, follows }
  return verifyExport(linesOf(exported), { trusted, trustedNow, witness, asked, startOf, progress }).catch(
    (e: unknown) => {
      if (e instanceof BadRecord && kept && present && kept.origin !== present.origin)
        throw new BadRecord(
          e.seq,
          `${e.message}; a backup was restored after ${kept.origin}: the log is now ${present.origin}`,
          e.latest,
        )
      throw e
    },
  )
}

/** Merges the kept checkpoints into the listed ones. */
async function* inOrder(kept: readonly Known[], listed: AsyncIterable<Known>): AsyncGenerator<Known> {
  const left = [...kept]
  for await (const known of listed) {
    while (left[0] && left[0].size <= known.size) yield left.shift()!
    yield known
  }
  yield* left
}
