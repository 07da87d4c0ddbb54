import { isIncluded, leafHash, type PublicJwk } from '@holdfast/crypto'
import { parseStrictObject } from '@holdfast/crypto/strict-json'
import { BadRecord, type Chain, createChain } from './chain.ts'
import { readCheckpoint } from './keys.ts'
import { linesOf } from './lines.ts'

/** As deep as RFC 8785 is written here. */
const mostDepth = 64

/** What an export says of itself in its last line. */
type Manifest = {
  chain?: { previous_hash?: string; first_seq?: number; last_seq?: number; last_hash?: string }
  /** A signed note. */
  checkpoint?: string
  /** Of the last event, that it is in the checkpoint. */
  proof?: string[]
}
export type Verdict = {
  events: number
  first_seq: number | null
  last_seq: number | null
  last_hash: string | null
  /** Of how many events the checkpoint is that the record was compared with. */
  checkpoint: number | null
  /** Whether a key that the trust set lists has signed that checkpoint. */
  signed: boolean
}

/**
 * An export of events, one on each line, in the order of their places, with or without its manifest. Throws `BadRecord`
 * for the first place that is not what was recorded.
 */
export async function verifyFile(
  path: string,
  {
    keys,
    kept,
    progress,
  }: { keys: readonly PublicJwk[]; kept: string | undefined; progress: (events: number) => void },
): Promise<Verdict> {
  const chain = createChain()
  const known = kept === undefined ? undefined : readCheckpoint(kept, keys)
  let compared = undefined as typeof known
  let manifest: Manifest | undefined
  let events = 0
  for await (const line of linesOf(path)) {
    const next = (chain.last?.seq ?? 0) + 1
    if (manifest) throw new BadRecord(next, 'something stands behind the manifest')
    const value = objectOf(line, next)
    if (!('seq' in value) && !('hash' in value)) {
      manifest = value as Manifest
      continue
    }
    chain.take(value)
    progress(++events)
    if (known?.size === chain.last?.seq) compared = requireRoot(chain, known)
  }
  if (manifest) compared = checkManifest(chain, manifest, keys) ?? compared
  if (known && !compared && chain.first === 1)
    throw new BadRecord((chain.last?.seq ?? 0) + 1, `the record ends here, and ${known.size} places were signed`)
  return {
    events,
    first_seq: chain.first ?? null,
    last_seq: chain.last?.seq ?? null,
    last_hash: chain.last?.hash.toString('hex') ?? null,
    checkpoint: compared?.size ?? null,
    signed: compared?.isSigned ?? false,
  }
}

function objectOf(line: Buffer, next: number): Record<string, unknown> {
  try {
    return parseStrictObject(line, 'the line', mostDepth)
  } catch (e) {
    throw new BadRecord(next, (e as Error).message)
  }
}

type Known = ReturnType<typeof readCheckpoint>
function requireRoot(chain: Chain, known: Known | undefined): Known | undefined {
  const root = chain.root()
  if (!known || !root) return undefined
  if (!root.equals(known.root))
    throw new BadRecord(known.size, 'the events up to here are not those that the checkpoint is of')
  return known
}

/** The checkpoint with which the events were compared. */
function checkManifest(chain: Chain, manifest: Manifest, keys: readonly PublicJwk[]): Known | undefined {
  const { chain: said, checkpoint, proof } = manifest
  const { first = 1, last } = chain
  if (said?.previous_hash !== undefined) chain.proveFirst(Buffer.from(said.previous_hash, 'hex'))
  if (said?.first_seq !== undefined && last && said.first_seq !== first)
    throw new BadRecord(Math.min(said.first_seq, first), `the manifest says that place ${said.first_seq} is the first`)
  if (said?.last_seq !== undefined && said.last_seq !== (last?.seq ?? 0))
    throw new BadRecord((last?.seq ?? 0) + 1, `the manifest says that place ${said.last_seq} is the last`)
  if (said?.last_hash !== undefined && said.last_hash !== last?.hash.toString('hex'))
    throw new BadRecord(last?.seq ?? 1, 'the manifest has another hash for the last place')
  if (checkpoint === undefined || !last) return undefined
  const known = readCheckpoint(checkpoint, keys)
  if (proof === undefined) return known.size === last.seq ? requireRoot(chain, known) : undefined
  const at = { leaf: leafHash(last.hash), index: last.seq - 1, size: known.size }
  const path = proof.map((hash) => Buffer.from(hash, 'hex'))
  if (!isIncluded(at, path, known.root))
    throw new BadRecord(last.seq, 'the checkpoint of the manifest does not have it')
  return known
}
