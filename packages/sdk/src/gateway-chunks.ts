import { ApiError, VerificationError } from './errors.ts'
import { type GatewayPolicy, type Peer, readChunk } from './gateway-verifier.ts'
import { bodyOf, type Send } from './send.ts'

/** Requests for chunks at once. */
const width = 4

/**
 * Fetches what a snapshot names by digest and keeps it, so that the next snapshot costs only the chunks that changed.
 * Nothing counts that is not what its digest says.
 */
export function createChunks(
  send: Send,
  query: Record<string, string>,
  onFetched: (digest: string, body: unknown) => Promise<void>,
) {
  let kept = new Map<string, Peer[]>()

  /** The snapshot with the peers of its chunks; undefined: the server has let go of one, ask for a new snapshot. */
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
      // What was fetched counts, also when the rest could not be.
      kept = new Map([...(isGone || left.length > 0 ? kept : []), ...found])
    }
    if (isGone) return undefined
    const peers = policy.chunks.flatMap(({ digest }) => found.get(digest) ?? missing(digest))
    return { ...policy, peers: [...policy.peers, ...peers] }
  }
  return {
    complete,
    /** What an earlier run fetched. Throws `VerificationError` unless it is what its digest says. */
    bring: (digest: string, body: unknown): void => {
      kept.set(digest, readChunk(body, digest))
    },
  }
}

function missing(digest: string): never {
  throw new VerificationError('malformed', `the chunk ${digest} is missing`)
}
