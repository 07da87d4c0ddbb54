import { randomBytes } from 'node:crypto'
import { day } from '../../../../kernel/time.ts'
import { FederationError } from '../proven-identity.ts'
import type { VerifiedAssertion } from './assertion.ts'
import { signingCertificates } from './certificates.ts'
import { requestUrl, verifyResponse } from './library.ts'
import { type IdpMetadata, readIdpMetadata, spMetadata } from './metadata.ts'
import { isSsoUrl, type SamlProvider } from './provider.ts'
import { decodeResponse, judgeResponse } from './response.ts'
import { signersOf } from './signatures.ts'

/** Service provider of SAML 2.0: sign-ins begin here by redirect and are answered by a post. */
export function createSaml({ now }: { now: () => Date }) {
  return {
    readMetadata: (xml: string): IdpMetadata => readIdpMetadata(xml, now()),
    /** Our metadata; the same bytes for a day. Their content never changes by itself, so a copy is valid for a year. */
    metadata: (provider: Parameters<typeof spMetadata>[0]): string =>
      spMetadata(provider, new Date((Math.floor(now().getTime() / day) + 366) * day)),

    /** Returns the address for the browser. The caller stores `requestId` in a row that is valid for one answer. */
    async begin(
      provider: SamlProvider,
      { relayState, maxAgeSeconds }: { relayState: string; maxAgeSeconds?: number },
    ): Promise<{ url: string; requestId: string }> {
      if (!isSsoUrl(provider.ssoUrl))
        throw new FederationError('discovery', 'The sign-in URL does not begin with https://.')
      const requestId = `_${randomBytes(20).toString('hex')}`
      const certificates = signingCertificates(provider.certificates)
      const forceAuthn = maxAgeSeconds !== undefined
      const url = await requestUrl(provider, certificates, { id: requestId, relayState, forceAuthn, now: now() })
      return { url, requestId }
    },

    /**
     * Verifies the posted answer. `requestId` is that of the row, which the caller has already used up; `maxAgeSeconds`
     * is that of the request. The caller must remember `assertionId` until `goodUntil`, in the transaction that acts on
     * the result.
     */
    async finish(
      provider: SamlProvider,
      answer: { samlResponse: string; requestId: string; maxAgeSeconds?: number },
    ): Promise<VerifiedAssertion> {
      const at = now()
      const xml = decodeResponse(answer.samlResponse)
      const signatures = judgeResponse(xml, provider, answer.requestId, at)
      const certificates = signersOf(signatures, signingCertificates(provider.certificates))
      const expected = { requestId: answer.requestId, maxAgeSeconds: answer.maxAgeSeconds, now: at }
      return await verifyResponse(xml, provider, certificates, expected)
    },
  }
}
export type Saml = ReturnType<typeof createSaml>
