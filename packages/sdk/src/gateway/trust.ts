import { reject, VerificationError } from '../errors.ts'
import { bodyOf, etagOf, requireTls, type Send } from '../send.ts'
import { openTrust, pinTrust, type SignedTrustSet, type TrustStore } from '../verify/trust-store.ts'
import type { Crls } from './crls.ts'

type Ask = { signal?: AbortSignal | undefined }
type Fetched = { isNew: boolean; refusal?: VerificationError | undefined }
type TrustOptions = {
  send: Send
  baseUrl: string
  query: Record<string, string>
  tenantId: string
  pinned: SignedTrustSet | undefined
  /** Revocation lists. They arrive with the set, signed by their own authorities. */
  crls: Crls
  /** Called with each pinned or newer set. */
  onTrust: (trust: SignedTrustSet) => void | Promise<void>
  now: () => Date
}

/** Manages the trust set of a gateway: pinned once, then updated only by its own keys. */
export function createGatewayTrust({ send, baseUrl, query, tenantId, pinned, crls, onTrust, now }: TrustOptions) {
  let trust: TrustStore | null = pinned ? openTrust(pinned, { tenantId }) : null
  let etag: string | null = null

  function believe(next: Parameters<TrustStore['accept']>[0]): boolean {
    if (trust) return trust.accept(next, now())
    trust = pinTrust(next, { tenantId, now: now() })
    return true
  }

  /**
   * Returns the ETag for the request. None if the held set must be confirmed in full, which prevents a freeze attack.
   */
  const knownEtag = () => (etag !== null && trust && !trust.isDue(now()) && !crls.isDue() ? etag : undefined)

  /** `wait`: seconds that the response may be held without a change. */
  async function fetch({ signal, wait }: Ask & { wait?: number }): Promise<Fetched> {
    const since = trust ? { since: String(trust.version) } : {}
    const known = wait === undefined ? undefined : knownEtag()
    const headers = known === undefined ? {} : { 'if-none-match': known }
    const reply = await send('gatewayTrustAnchors', { query: { ...query, ...since } }, { signal, wait, headers })
    if (reply.status === 304) return { isNew: false }
    const { crls: given = [], ...next } = bodyOf(reply)
    const isNew = believe(next)
    const { document } = trust ?? refuseWithoutTrust()
    if (isNew) await onTrust(document)
    const refusal = await crls.take(given, document)
    etag = refusal ? null : etagOf(reply)
    return { isNew, refusal }
  }

  async function current(ask: Ask): Promise<TrustStore> {
    if (trust && !trust.isDue(now())) return trust
    try {
      await fetch(ask)
    } catch (e) {
      // A set that is only due for a refresh is used until its own end.
      if (!trust || ask.signal?.aborted) throw e
    }
    return trust ?? refuseWithoutTrust()
  }

  return {
    get held(): TrustStore | null {
      return trust
    },
    crls,
    /** Restores a set of an earlier run, unless there is one already. */
    reopen: (kept: SignedTrustSet): void => {
      if (kept.tenant_id !== tenantId) reject('wrong_tenant', 'the stored trust set belongs to another tenant')
      trust ??= openTrust(kept, { tenantId })
    },
    /** Returns true if the trust set has changed. */
    refresh: async (ask: Ask = {}): Promise<boolean> => (await fetch(ask)).isNew,
    /** The same for the set and the lists; a refused list is an error. The response may be held. */
    follow: async (ask: Ask & { wait: number }): Promise<boolean> => {
      const before = crls.current
      const { isNew, refusal } = await fetch(ask)
      if (refusal) throw refusal
      return isNew || crls.current !== before
    },
    repinOverTls: async ({ signal }: Ask = {}): Promise<void> => {
      requireTls(baseUrl)
      const { crls: given = [], steps: _, ...first } = bodyOf(await send('gatewayTrustAnchors', { query }, { signal }))
      if (trust) trust.repin(first, now())
      else believe(first)
      await onTrust(first)
      const refusal = await crls.take(given, first)
      if (refusal) throw refusal
    },
    /** Checks with the current set, and again with a newer one if a key is unknown. */
    judge: async <T>(check: (trust: TrustStore) => T, ask: Ask): Promise<T> => {
      const held = await current(ask)
      const { document } = held
      try {
        return check(held)
      } catch (e) {
        if (!(e instanceof VerificationError && e.code === 'unknown_key')) throw e
        await fetch(ask)
        // `follow` may also have updated it meanwhile.
        if (held.document === document) throw e
        return check(held)
      }
    },
  }
}
export type GatewayTrust = ReturnType<typeof createGatewayTrust>

export function refuseWithoutTrust(): never {
  throw new VerificationError('trust_expired', 'there is no trust set for the verification')
}
