import { reject, VerificationError } from './errors.ts'
import { bodyOf, type Send } from './send.ts'
import { openTrust, pinTrust, type SignedTrustSet, type TrustStore } from './trust-store.ts'

type Ask = { signal?: AbortSignal | undefined }
type TrustOptions = {
  send: Send
  query: Record<string, string>
  tenantId: string
  pinned: SignedTrustSet | undefined
  /** Told of every set that is pinned or follows. */
  onTrust: (trust: SignedTrustSet) => void | Promise<void>
  now: () => Date
}

/** The trust set by which a gateway judges: pinned once, then moved only by its own keys. */
export function createGatewayTrust({ send, query, tenantId, pinned, onTrust, now }: TrustOptions) {
  let trust: TrustStore | null = pinned ? openTrust(pinned, { tenantId }) : null

  /** Whether there is another trust set than before. */
  async function refresh({ signal }: Ask = {}): Promise<boolean> {
    const since = trust ? { since: String(trust.version) } : {}
    const { crls: _, ...next } = bodyOf(
      await send('gatewayTrustAnchors', { query: { ...query, ...since } }, { signal }),
    )
    if (trust && !trust.accept(next, now())) return false
    trust ??= pinTrust(next, { tenantId, now: now() })
    await onTrust(trust.document)
    return true
  }

  async function current(ask: Ask): Promise<TrustStore> {
    if (trust && !trust.isDue(now())) return trust
    try {
      await refresh(ask)
    } catch (e) {
      // One that is merely due still judges, until its own end.
      if (!trust || ask.signal?.aborted) throw e
    }
    return trust ?? refuseWithoutTrust()
  }

  return {
    get held(): TrustStore | null {
      return trust
    },
    /** Goes on with a set that an earlier run kept, unless there is one already. */
    reopen: (kept: SignedTrustSet): void => {
      if (kept.tenant_id !== tenantId) reject('wrong_tenant', 'the trust set that was kept is of another tenant')
      trust ??= openTrust(kept, { tenantId })
    },
    refresh,
    /** Judges by the current set, and once more by a newer one where a key is unknown. */
    judge: async <T>(check: (trust: TrustStore) => T, ask: Ask): Promise<T> => {
      const held = await current(ask)
      try {
        return check(held)
      } catch (e) {
        const mayBeNewer = e instanceof VerificationError && e.code === 'unknown_key'
        if (!mayBeNewer || !(await refresh(ask))) throw e
        return check(held)
      }
    },
  }
}
export type GatewayTrust = ReturnType<typeof createGatewayTrust>

export function refuseWithoutTrust(): never {
  throw new VerificationError('trust_expired', 'there is no trust set to judge by')
}
