import type { Contract, Output } from '@holdfast/contract'
import { isConsistent, isIncluded, leafHash, type PublicJwk, peaksBefore } from '@holdfast/crypto'
import { BadRecord, type Chain, createChain, type Start } from './chain.ts'
import { readCheckpoint } from './keys.ts'
import type { Verdict } from './verify-file.ts'

type Answer<K extends keyof Contract> = Output<Contract[K]>
type Event = Answer<'listAuditEvents'>['items'][number]
type Proof = Answer<'proveAuditEvent'>
/** What a record is asked for; each answers anew, and nothing of it is believed. */
export type Source = {
  /** In the order of their places. */
  events: () => AsyncIterable<Event>
  /** The smallest first. */
  checkpoints: () => AsyncIterable<{ note: string }>
  newest: () => Promise<{ note: string } | undefined>
  prove: (eventId: string) => Promise<Proof>
  consistency: (from: number, to: number) => Promise<readonly string[]>
}
type Options = { keys: readonly PublicJwk[]; kept: string | undefined; progress: (events: number) => void }
type Known = ReturnType<typeof readCheckpoint>
const hashes = (proof: readonly string[]) => proof.map((hash) => Buffer.from(hash, 'hex'))

/**
 * The record of a server, from its first place to its last: each event in the hash of the next, every checkpoint of
 * what stands there, and the last event in one that a key of the trust set signed. Throws `BadRecord`.
 */
export async function verifyServer(source: Source, { keys, kept, progress }: Options) {
  const known = kept === undefined ? [] : [readCheckpoint(kept, keys)]
  const newest = await source.newest()
  const signed = newest && readCheckpoint(newest.note, keys)
  const checkpoints = inOrder(source.checkpoints(), keys)
  let next = await checkpoints.next()
  let before: Known | undefined
  let compared = 0
  let [events, ended] = [0, 0]
  let chain: Chain | undefined
  let last: Event | undefined

  async function goPast(checkpoint: Known, root: Buffer | undefined): Promise<void> {
    if (root ? !root.equals(checkpoint.root) : before && !(await follows(source, before, checkpoint)))
      throw new BadRecord(
        (before?.size ?? 0) + 1,
        `from here to place ${checkpoint.size} is an event that is not the one that was signed`,
      )
    if (!checkpoint.isSigned) ended++
    before = checkpoint
    compared++
    next = await checkpoints.next()
  }

  for await (const event of source.events()) {
    chain ??= createChain(event.seq === 1 ? undefined : await startOf(source, event, keys))
    // What was signed of events that are purged.
    while (!next.done && next.value.size < (chain.first ?? 1)) await goPast(next.value, undefined)
    chain.take(event)
    last = event
    progress(++events)
    for (const one of known) if (one.size === event.seq) requireRoot(chain, one)
    while (!next.done && next.value.size === event.seq) await goPast(next.value, chain.root())
  }
  const end = chain?.last?.seq ?? 0
  for (const one of [...known, ...(signed ? [signed] : []), ...(before ? [before] : [])])
    if (one.size > end) throw new BadRecord(end + 1, `the record ends here, and ${one.size} places were signed`)
  if (signed && !signed.isSigned)
    throw new BadRecord(signed.size, 'no key of the trust set signed the newest checkpoint')
  if (chain && last) await requireHead(source, chain, last, before, keys)
  return {
    events,
    first_seq: chain?.first ?? null,
    last_seq: chain?.last?.seq ?? null,
    last_hash: chain?.last?.hash.toString('hex') ?? null,
    checkpoint: before?.size ?? null,
    signed: true,
    checkpoints: compared,
    checkpoints_of_ended_keys: ended,
  } satisfies Verdict & Record<string, unknown>
}

/** Checkpoints as they are signed, each of more events than the one before. */
async function* inOrder(all: AsyncIterable<{ note: string }>, keys: readonly PublicJwk[]): AsyncGenerator<Known> {
  let size = 0
  for await (const { note } of all) {
    const checkpoint = readCheckpoint(note, keys)
    if (checkpoint.size <= size) throw new BadRecord(checkpoint.size, 'a checkpoint is there twice, or out of order')
    size = checkpoint.size
    yield checkpoint
  }
}

/** A record that does not begin at place 1: where it begins is proven to be in what was signed. */
async function startOf(source: Source, event: Event, keys: readonly PublicJwk[]): Promise<Start> {
  const proof = await source.prove(event.event_id)
  requireIncluded(event, proof, keys)
  const index = event.seq - 1
  const peaks = peaksBefore(index, readCheckpoint(proof.checkpoint.note, keys).size, hashes(proof.proof))
  return { seq: index, hash: Buffer.from(proof.previous_hash, 'hex'), peaks }
}

function requireIncluded({ seq, hash }: Event, { proof, checkpoint }: Proof, keys: readonly PublicJwk[]): Known {
  const known = readCheckpoint(checkpoint.note, keys)
  if (!known.isSigned) throw new BadRecord(seq, 'no key of the trust set signed the checkpoint that is to prove it')
  const at = { leaf: leafHash(Buffer.from(hash, 'hex')), index: seq - 1, size: known.size }
  if (!isIncluded(at, hashes(proof), known.root)) throw new BadRecord(seq, 'it is not what was signed')
  return known
}

/** The last event is in what was signed, and that goes on from all that was signed before. */
async function requireHead(
  source: Source,
  chain: Chain,
  last: Event,
  before: Known | undefined,
  keys: readonly PublicJwk[],
): Promise<void> {
  const known = requireIncluded(last, await source.prove(last.event_id), keys)
  if (known.size === last.seq) requireRoot(chain, known)
  if (before && !(await follows(source, before, known)))
    throw new BadRecord(before.size + 1, `what was signed of ${known.size} events does not go on from here`)
}

async function follows(source: Source, from: Known, to: Known): Promise<boolean> {
  return isConsistent(from, to, hashes(await source.consistency(from.size, to.size)))
}

function requireRoot(chain: Chain, known: Known): void {
  if (!chain.root()?.equals(known.root))
    throw new BadRecord(known.size, 'the events up to here are not those that the checkpoint is of')
}
