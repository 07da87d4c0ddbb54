import { VerificationError } from '../errors.ts'
import { bodyOf, requireTls, type Send } from '../send.ts'
import type { SignedTrustSet, TrustStore } from '../verify/trust-store.ts'

type Ask = { signal?: AbortSignal | undefined }
type TrustOptions = {
  trust: TrustStore
  call: Send
  baseUrl: string
  save: (change: { trust: SignedTrustSet }) => Promise<void>
  now: () => Date
}

/** Updates the trust set of a device. */
export function createDeviceTrust({ trust, call, baseUrl, save, now }: TrustOptions) {
  async function refresh({ signal }: Ask = {}): Promise<boolean> {
    const next = bodyOf(await call('trustAnchors', { query: { since: trust.version } }, { signal }))
    const changed = trust.accept(next, now())
    if (changed) await save({ trust: trust.document })
    return changed
  }

  return {
    /** Returns true if the trust set has changed. */
    refresh,
    /** An unknown key may be in a newer trust set, so the check is repeated after a refresh. */
    judge: async <T>(check: () => T, ask: Ask): Promise<T> => {
      try {
        return check()
      } catch (error) {
        const mayBeNewer =
          error instanceof VerificationError && (error.code === 'unknown_key' || error.code === 'trust_expired')
        if (!mayBeNewer || !(await refresh(ask))) throw error
        return check()
      }
    },
    repinOverTls: async ({ signal }: Ask = {}): Promise<void> => {
      requireTls(baseUrl)
      const { steps: _, ...first } = bodyOf(await call('trustAnchors', {}, { signal }))
      trust.repin(first, now())
      await save({ trust: trust.document })
    },
  }
}
