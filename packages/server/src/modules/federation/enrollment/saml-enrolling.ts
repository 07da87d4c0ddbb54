import { mintToken } from '@holdfast/crypto'
import type { Actor, Source } from '../../../kernel/actor.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { FederationDeps } from '../deps.ts'
import { FederationError } from '../protocols/proven-identity.ts'
import type { Saml } from '../protocols/saml/saml.ts'
import { findProvider, type ProviderRow } from '../providers/providers.queries.ts'
import { samlOf } from '../providers/saml-settings.ts'
import type { UnresolvedAccount } from '../sign-in/account-resolution.ts'
import { type SignInOpening, waitsForMs } from '../sign-in/opening.ts'
import type { Provisioning, ProvisioningCandidate } from '../sign-in/provisioning.ts'
import * as queries from '../sign-in/saml-requests.queries.ts'

/** Key of a machine: the digest of its enrollment challenge, and the thumbprint of its key. */
type Machine = { ticket: Buffer; jkt: string }
type Begun = { requestId: string; url: string; expiresAt: Date }
type NotProven = {
  refused: FederationError['reason'] | UnresolvedAccount | 'unknown_provider' | 'unknown_request'
  /** Undefined if no known request names the provider. */
  providerId: string | undefined
}

/**
 * Enrollment of devices by SAML. The request of the browser is bound to the challenge and the key of the device, so a
 * stolen response enrolls no other device.
 */
export function createSamlEnrolling(
  deps: Pick<FederationDeps, 'db' | 'audit' | 'now' | 'readToken' | 'peppers' | 'publicUrl'> & {
    saml: Pick<Saml, 'begin' | 'finish'>
    provisioning: Provisioning
    opening: Pick<SignInOpening, 'takeStep'>
  },
) {
  const { db, audit, now, readToken, peppers, publicUrl, saml, provisioning, opening } = deps
  const isOpen = ({ enabled, enrollment }: ProviderRow) => enabled && enrollment

  return {
    /** Each request is stored and recorded, so the rate limit of sign-ins applies. */
    begin: async (
      by: Actor,
      { ticket, jkt }: Machine,
      { providerId, redirectUri, until }: { providerId: string; redirectUri: string; until: Date },
    ): Promise<Begun | NotProven> => {
      await opening.takeStep(by, by.tenantId)
      const tenant = by.tenantId
      const refuse = (refused: NotProven['refused']): NotProven => ({ refused, providerId })
      const provider = await db.inTenant(tenant, (tx) => findProvider(tx, tenant, providerId))
      if (!provider) return refuse('unknown_provider')
      if (!isOpen(provider)) return refuse('turned_off')
      const state = mintToken(peppers, 'hfr', tenant)
      try {
        const { url, requestId } = await saml.begin(samlOf(publicUrl, provider, now()), { relayState: state.token })
        const expiresAt = new Date(Math.min(now().getTime() + waitsForMs, until.getTime()))
        await db.inTenant(tenant, async (tx) => {
          await queries.insertSamlRequest(tx, {
            tenant_id: tenant,
            state_digest: state.digest,
            provider_id: providerId,
            authn_request_id: requestId,
            browser_digest: null,
            next_path: null,
            challenge_digest: ticket,
            jkt,
            redirect_uri: redirectUri,
            expires_at: expiresAt,
          })
          const provider_id = encodeId('identity_provider', providerId)
          const target = { type: 'identity_provider', id: provider_id, name: provider.name }
          await audit.record(tx, by, 'saml_request.created', { provider_id }, { target })
        })
        return { requestId: state.token, url, expiresAt }
      } catch (e) {
        if (e instanceof FederationError) return refuse(e.reason)
        throw e
      }
    },

    /**
     * Returns the person that a provider vouches for in answer to a request of this machine, or the reason for the
     * refusal.
     */
    identify: async (
      by: Source,
      { ticket, jkt }: Machine,
      { requestId, samlResponse }: { requestId: string; samlResponse: string },
    ): Promise<(ProvisioningCandidate & { providerId: string }) | NotProven> => {
      const tenant = by.tenantId
      const state = readToken(requestId)
      const key = { state_digest: state?.digest ?? Buffer.alloc(0), challenge_digest: ticket, jkt }
      const request =
        state?.prefix === 'hfr' && state.tenant === tenant
          ? await db.inTenant(tenant, (tx) => queries.findRequestOfDevice(tx, tenant, key, now()))
          : undefined
      if (!request) return { refused: 'unknown_request', providerId: undefined }
      const { provider_id: providerId } = request
      const refuse = (refused: NotProven['refused']): NotProven => ({ refused, providerId })
      const provider = await db.inTenant(tenant, (tx) => findProvider(tx, tenant, providerId))
      if (!provider) return refuse('unknown_provider')
      if (!isOpen(provider)) return refuse('turned_off')
      try {
        const answer = { samlResponse, requestId: request.authn_request_id }
        const { assertionId, goodUntil, ...proven } = await saml.finish(samlOf(publicUrl, provider, now()), answer)
        const assertion = { provider_id: providerId, assertion_id: assertionId, good_until: goodUntil }
        const came = provisioning(by, provider, proven, {
          allows: isOpen,
          spend: async (tx) => {
            const isTaken = await queries.takeRequestOfDevice(tx, tenant, key, now())
            const spentAssertions = await queries.spendAssertions(tx, tenant, [assertion])
            return isTaken && spentAssertions.length > 0 ? undefined : 'replayed'
          },
        })
        return { ...came, providerId }
      } catch (e) {
        if (e instanceof FederationError) return refuse(e.reason)
        throw e
      }
    },
  }
}
