import { ApiError, VerificationError } from '../errors.ts'
import { bodyOf, type Send } from '../send.ts'
import { type GatewayPolicy, type Peer, readChunk } from './verifier.ts'

/** Number of concurrent requests for chunks. */
const width = 4

/**
 * Fetches chunks that a snapshot names by digest and keeps them, so that the next snapshot costs only the changed
 * chunks. A chunk that does not match its digest is refused.
 */
export function createChunks(
  send: Send,
  query: Record<string, string>,
  onFetched: (digest: string, body: unknown) => Promise<void>,
) {
  let kept = new Map<string, Peer[]>()

  /**
   * Returns the snapshot with the peers of its chunks; undefined if the server no longer has one of them, so that a new
   * snapshot is needed.
   */
  async function complete(policy: GatewayPolicy, signal: AbortSignal | undefined): Promise<GatewayPolicy | undefined> {
    if (policy.chunks.length === 0) return policy
    const found = new Map<string, Peer[]>()
    const left = policy.chunks.filter(({ digest }) => {
      const known = kept.get(digest)
      if (known) found.set(digest, known)
      return !known
    })
    let isGone = false
    const fetchSome = async () => {
      for (let next = left.pop(); next && !isGone; next = left.pop()) {
        try {
          const reply = await send('unifiedPolicyChunk', { params: { digest: next.digest }, query }, { signal })
          const body = bodyOf(reply)
          found.set(next.digest, readChunk(body, next.digest))
          await onFetched(next.digest, body)
        } catch (e) {
          if (!(e instanceof ApiError && e.status === 404)) throw e
          isGone = true
        }
      }
    }
    try {
      await Promise.all(Array.from({ length: width }, fetchSome))
    } finally {
      // Fetched chunks are kept, even if others could not be fetched.
      kept = new Map([...(isGone || left.length > 0 ? kept : []), ...found])
    }
    if (isGone) return undefined
    const peers = policy.chunks.flatMap(({ digest }) => found.get(digest) ?? missing(digest))
    return { ...policy, peers: [...policy.peers, ...peers] }
  }
  return {
    complete,
    /** Adds a chunk of an earlier run. Throws `VerificationError` if it does not match its digest. */
    bring: (digest: string, body: unknown): void => {
      kept.set(digest, readChunk(body, digest))
    },
  }
}

function missing(digest: string): never {
  throw new VerificationError('malformed', `the chunk ${digest} is missing`)
}
