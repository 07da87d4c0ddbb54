import type { ProofSigner } from '@holdfast/crypto/dpop'
import { type PrivateJwk, parsePublicJwk } from '@holdfast/crypto/jwk'
import { generateKey } from '@holdfast/crypto/signer'
import { createOneAtATime } from '../one-at-a-time.ts'
import { bodyOf, type Send, urlOf } from '../send.ts'
import type { Renewal } from './options.ts'
import type { DeviceState } from './state.ts'

type Ask = { signal?: AbortSignal | undefined }
type Key = ProofSigner | PrivateJwk
type RenewalOptions = {
  send: Send
  baseUrl: string
  credential: () => string
  prove: (by: Key) => (method: string, url: string, accessToken: string) => string
  /** Saves the new credential. `next` is the key that it is bound to, if that is a new one. */
  renewed: (
    next: { key: Key; privateJwk: PrivateJwk | null } | undefined,
    given: Pick<DeviceState, 'credential' | 'expiresAt' | 'renewAfter'>,
  ) => Promise<void>
}

/** Renews the credential of a device, one renewal at a time. */
export function createRenewal({ send, baseUrl, credential, prove, renewed }: RenewalOptions) {
  const oneAtATime = createOneAtATime<void>()

  async function renewOnce(
    { rotateKey = false, newKey, wireguardPublicKey, clientVersion, arch }: Renewal,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const made = rotateKey && !newKey ? generateKey('ES256') : undefined
    const key = newKey ?? made?.privateJwk
    const target = urlOf(baseUrl, 'renewCredential')
    const publicJwk = newKey?.publicJwk ?? made?.publicJwk
    const reply = await send(
      'renewCredential',
      {
        body: {
          ...(publicJwk && { new_public_key: parsePublicJwk(publicJwk) }),
          ...(wireguardPublicKey !== undefined && { wireguard_public_key: wireguardPublicKey }),
          ...(clientVersion !== undefined && { client_version: clientVersion }),
          ...(arch !== undefined && { arch }),
        },
      },
      { signal, headers: key && { 'dpop-new-key': prove(key)('POST', target, credential()) } },
    )
    const { credential: next, expires_at, renew_after } = bodyOf(reply)
    await renewed(key && { key, privateJwk: made?.privateJwk ?? null }, {
      credential: next,
      expiresAt: expires_at,
      renewAfter: renew_after,
    })
  }

  return ({ signal, ...asked }: Ask & Renewal = {}): Promise<void> =>
    oneAtATime(Object.keys(asked).length === 0, () => renewOnce(asked, signal))
}
