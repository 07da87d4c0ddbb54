import { type GatewayDirectory, verifyGatewayDirectory } from './directory-verifier.ts'
import type { Judge } from './policy-verifier.ts'
import { bodyOf, etagOf, type Send } from './send.ts'

type Ask = { signal?: AbortSignal | undefined }

/** The directory that was taken last, which stays in force until its own end whatever comes. */
export function createDirectoryReader({
  call,
  judge,
  withTrust,
}: {
  call: Send
  judge: () => Judge
  withTrust: <T>(check: () => T, ask: Ask) => Promise<T>
}) {
  let held: { directory: GatewayDirectory; etag: string | null } | null = null
  const inForce = () => (held && judge().now < held.directory.expiresAt ? held : null)

  return {
    current: (): GatewayDirectory | null => inForce()?.directory ?? null,
    /** `wait`: how many seconds the server may hold the answer while nothing changes (at most 300). */
    fetch: async ({ wait = 0, signal }: Ask & { wait?: number } = {}): Promise<GatewayDirectory> => {
      const before = inForce()
      const headers: Record<string, string> = before?.etag ? { 'if-none-match': before.etag } : {}
      const reply = await call('gatewayPools', {}, { signal, wait, headers })
      if (!reply.body && before) return before.directory
      const { directory } = bodyOf(reply)
      const next = await withTrust(() => verifyGatewayDirectory(directory, judge(), held?.directory), { signal })
      held = { directory: next, etag: etagOf(reply) }
      return next
    },
  }
}
