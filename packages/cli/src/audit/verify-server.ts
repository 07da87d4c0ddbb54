import { setTimeout as delay } from 'node:timers/promises'
import { isConsistent, isIncluded, leafHash, peaksBefore } from '@holdfast/crypto'
import { ApiError, type Client } from '@holdfast/sdk'
import { BadRecord } from './bad-record.ts'
import type { Start } from './chain.ts'
import { type Known, readCheckpoint, type Trusted } from './keys.ts'
import type { Place } from './line.ts'
import { linesOf } from './lines.ts'
import { verifyExport } from './verify-export.ts'

type Options = {
  client: Client
  scope: { tenant_id?: string }
  trusted: Trusted
  kept: Known | undefined
  progress: (events: number) => void
}
const pageSize = 200
const hashes = (proof: readonly string[]) => proof.map((hash) => Buffer.from(hash, 'hex'))

/**
 * The record of a server, from its first place to its last: each event in the hash of the next, and every checkpoint of
 * what stands there. Throws `BadRecord`.
 */
export async function verifyServer({ client, scope, trusted, kept, progress }: Options) {
  const read = (note: string) => readCheckpoint(note, trusted)
  const keptOnes = kept ? [kept] : []
  // Before the export begins: all that is signed by now is in it.
  const [newest] = (await client.listAuditCheckpoints({ query: { ...scope, limit: 1 } })).items
  const reached = [...keptOnes, ...(newest ? [read(newest.note)] : [])]

  async function* listed(): AsyncGenerator<Known> {
    let cursor: string | null = null
    let size = 0
    do {
      const query = { ...scope, sort: 'size', limit: pageSize, ...(cursor !== null && { cursor }) } as const
      const page: Awaited<ReturnType<Client['listAuditCheckpoints']>> = await patiently(() =>
        client.listAuditCheckpoints({ query }),
      )
      for (const { note } of page.items) {
        const known = read(note)
        if (known.size <= size) throw new BadRecord(known.size, 'a checkpoint is there twice, or out of order')
        size = known.size
        yield known
      }
      cursor = page.next_cursor
    } while (cursor !== null)
  }

  /** Where a record begins whose first places are purged: proven to be in what a trusted key signed. */
  async function startOf({ seq, hash, eventId }: Place): Promise<Start> {
    const proven = await patiently(() => client.proveAuditEvent({ params: { event_id: eventId }, query: scope })).catch(
      (e: unknown) => {
        if (!(e instanceof ApiError) || e.code !== 'internal_error') throw e
        throw new BadRecord(1, `places 1 to ${seq - 1} are missing, and the server can't prove what they were`)
      },
    )
    const known = read(proven.checkpoint.note)
    if (!known.isSigned) throw new BadRecord(seq, 'nobody who is trusted signed the checkpoint that is to prove it')
    const path = hashes(proven.proof)
    if (!isIncluded({ leaf: leafHash(hash), index: seq - 1, size: known.size }, path, known.root))
      throw new BadRecord(seq, 'it is not what was signed')
    const peaks = peaksBefore(seq - 1, known.size, path)
    return { seq: seq - 1, hash: Buffer.from(proven.previous_hash, 'hex'), peaks }
  }

  const follows = async (from: Known, to: Known): Promise<boolean> => {
    const query = { ...scope, from: from.size, to: to.size }
    const { proof } = await patiently(() => client.proveAuditConsistency({ query }))
    return isConsistent(from, to, hashes(proof))
  }
  const exported = (await client.exportAudit({ query: { ...scope, format: 'ndjson' } })) as AsyncIterable<Uint8Array>
  const checkpoints = inOrder(keptOnes, listed())
  return verifyExport(linesOf(exported, 'the export'), {
    trusted,
    witness: { checkpoints, reached, follows },
    startOf,
    progress,
  })
}

/** Those that were kept among those that are listed. */
async function* inOrder(kept: readonly Known[], listed: AsyncIterable<Known>): AsyncGenerator<Known> {
  const left = [...kept]
  for await (const known of listed) {
    while (left[0] && left[0].size <= known.size) yield left.shift()!
    yield known
  }
  yield* left
}

/** A walk asks often: where it is asked to wait, it does. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await ask()
    } catch (e) {
      if (!(e instanceof ApiError) || e.code !== 'rate_limited') throw e
      await delay(1000 * (e.retryAfterSeconds ?? 1))
    }
}
