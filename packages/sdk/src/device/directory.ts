import { VerificationError } from '../errors.ts'
import { bodyOf, etagOf, type Send } from '../send.ts'
import { type GatewayDirectory, verifyGatewayDirectory } from '../verify/directory-verifier.ts'
import type { Judge } from '../verify/policy-verifier.ts'
import type { DeviceState } from './state.ts'

type Ask = { signal?: AbortSignal | undefined }
type Saved = DeviceState['directory']

/** Manages the newest directory. It stays in force until it expires, also after a restart. */
export function createDirectoryReader({
  call,
  judge,
  withTrust,
  saved,
  save,
}: {
  call: Send
  judge: () => Judge
  withTrust: <T>(check: () => T, ask: Ask) => Promise<T>
  saved: Saved
  save: (saved: Saved) => Promise<void>
}) {
  let held = restore(saved, judge())
  /** Later directories must not be older than this, even after the directory's own end. */
  let accepted = saved ? { seq: saved.seq, issuedAt: new Date(saved.issuedAt) } : undefined
  const inForce = () => (held && judge().now < held.directory.expiresAt ? held : null)

  return {
    current: (): GatewayDirectory | null => inForce()?.directory ?? null,
    /** `wait`: seconds that the server may hold the response without a change (at most 300). */
    fetch: async ({ wait = 0, signal }: Ask & { wait?: number } = {}): Promise<GatewayDirectory> => {
      const before = inForce()
      const headers: Record<string, string> = before?.etag ? { 'if-none-match': before.etag } : {}
      const reply = await call('gatewayPools', {}, { signal, wait, headers })
      if (!reply.body && before) return before.directory
      const { directory: jws } = bodyOf(reply)
      const directory = await withTrust(() => verifyGatewayDirectory(jws, judge(), accepted), { signal })
      const { seq, issuedAt } = directory
      const etag = etagOf(reply)
      held = { directory, etag }
      accepted = { seq, issuedAt }
      await save({ jws, etag, seq, issuedAt: issuedAt.toISOString() })
      return directory
    },
  }
}

/** The saved directory is verified again, since the file is not trusted. */
function restore(saved: Saved, judge: Judge): { directory: GatewayDirectory; etag: string | null } | null {
  if (!saved) return null
  try {
    return { directory: verifyGatewayDirectory(saved.jws, judge, undefined), etag: saved.etag }
  } catch (e) {
    if (e instanceof VerificationError) return null
    throw e
  }
}
