import type { AttemptReason } from '@holdfast/contract/vocabulary'
import type { TenantId } from '../../kernel/actor.ts'
import { second } from '../../kernel/time.ts'
import { createWriteBehind } from '../../kernel/write-behind.ts'
import type { TokenAttempts } from './attempts.queries.ts'

/** Uses within this time are written together. */
const gatherMs = 100
/** Minimum time between two writes, in ms, however often tokens are used. */
const betweenMs = second
const statementSize = 2000
/** Maximum number of tokens waiting for a write. Uses of further tokens are dropped until the next write. */
const mostTokens = 20_000

type Attempt = { tenantId: TenantId; tokenId: string; sourceIp: string; platform: string | null } & (
  | { outcome: 'enrolled' | 'waiting_for_approval' }
  | { outcome: 'refused'; reason: AttemptReason }
)

/**
 * Records uses of enrollment tokens, so that an administrator sees a device before it is enrolled. Uses within a second
 * share a write, so heavy use of a token costs no more than a single use.
 */
export function createTokenAttempts({
  write,
  now,
  onError,
}: {
  write: (batch: readonly TokenAttempts[]) => Promise<unknown>
  now: () => Date
  onError: (e: Error) => void
}) {
  let nextAt = Number.NEGATIVE_INFINITY
  const behind = createWriteBehind<TokenAttempts>({
    write: async (batch) => {
      nextAt = performance.now() + betweenMs
      await write([...batch.values()])
    },
    onError,
    merge: (known, added) => ({
      ...(known.last_at > added.last_at ? known : added),
      refused: known.refused + added.refused,
    }),
    maxBatch: statementSize,
    maxKeys: mostTokens,
  })

  return {
    note: ({ tenantId, tokenId, sourceIp, platform, ...of }: Attempt): void => {
      const isRefused = of.outcome === 'refused'
      const attempt = {
        tenant_id: tenantId,
        token_id: tokenId,
        source_ip: sourceIp,
        platform,
        last_at: now(),
        outcome: of.outcome,
        reason: isRefused ? of.reason : null,
        refused: isRefused ? 1 : 0,
      }
      behind.touch(`${tenantId}/${tokenId}`, attempt, Math.max(gatherMs, nextAt - performance.now()))
    },
    flush: behind.flush,
  }
}
export type RecordAttempts = ReturnType<typeof createTokenAttempts>
