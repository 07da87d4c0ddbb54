import type { AttemptReason } from '@holdfast/contract/vocabulary'
import type { TenantId } from '../../kernel/actor.ts'
import { isOfData, writeInHalves } from '../../kernel/in-halves.ts'
import { second } from '../../kernel/time.ts'
import type { Attempts } from './attempts.queries.ts'

/** What is written together was used within this time. */
const gatherMs = 100
/** A token is written at most once in this time, however often it is used. */
const betweenMs = second
const retryMs = 5 * second
const statementSize = 2000
/** More tokens than these wait for no write: their uses show with the next one. */
const mostTokens = 20_000

type Attempt = { tenantId: TenantId; tokenId: string; sourceIp: string; platform: string | null } & (
  | { outcome: 'enrolled' | 'waiting_for_approval' }
  | { outcome: 'refused'; reason: AttemptReason }
)

/**
 * Remembers how enrollment tokens are used, so that an administrator sees a device before it is enrolled. The uses of a
 * second share a write: a caller who hammers a token costs no more than one who uses it.
 */
export function createAttempts({
  write,
  now,
  onError,
}: {
  write: (batch: readonly Attempts[]) => Promise<unknown>
  now: () => Date
  onError: (e: Error) => void
}) {
  let pending = new Map<string, Attempts>()
  let timer: NodeJS.Timeout | undefined
  let nextAt = Number.NEGATIVE_INFINITY
  let running: Promise<void> | undefined

  function add(one: Attempts): void {
    const key = `${one.tenant_id}/${one.token_id}`
    const found = pending.get(key)
    if (found)
      pending.set(key, { ...(found.last_at > one.last_at ? found : one), refused: found.refused + one.refused })
    else if (pending.size < mostTokens) pending.set(key, one)
  }
  function schedule(withinMs: number): void {
    timer ??= setTimeout(() => void flushAndRetry(), withinMs).unref()
  }
  async function flushAndRetry(): Promise<void> {
    await flush()
    if (pending.size > 0) schedule(retryMs)
  }
  async function writeAll(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    nextAt = performance.now() + betweenMs
    const batch = [...pending.values()]
    pending = new Map()
    for (let i = 0; i < batch.length; i += statementSize)
      await writeInHalves(batch.slice(i, i + statementSize), {
        write: async (part) => {
          await write(part)
        },
        // A token that was purged meanwhile is dropped alone.
        refused: (part, e) => {
          if (!isOfData(e)) for (const one of part) add(one)
          onError(e as Error)
        },
      })
  }
  /** What was noted before the call is written, or reported to `onError`, when it settles. */
  async function flush(): Promise<void> {
    const mine = (running ?? Promise.resolve()).then(writeAll)
    running = mine
    await mine
    if (running === mine) running = undefined
  }

  return {
    note: ({ tenantId, tokenId, sourceIp, platform, ...of }: Attempt): void => {
      const isRefused = of.outcome === 'refused'
      add({
        tenant_id: tenantId,
        token_id: tokenId,
        source_ip: sourceIp,
        platform,
        last_at: now(),
        outcome: of.outcome,
        reason: isRefused ? of.reason : null,
        refused: isRefused ? 1 : 0,
      })
      schedule(Math.max(gatherMs, nextAt - performance.now()))
    },
    flush,
  }
}
export type RecordAttempts = ReturnType<typeof createAttempts>
