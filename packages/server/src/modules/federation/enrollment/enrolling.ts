import { idTokenMinutes } from '@holdfast/contract/limits'
import type { Tx } from '../../../db/database.ts'
import type { Source, TenantId } from '../../../kernel/actor.ts'
import { failField } from '../../../kernel/app-error.ts'
import { newUuid } from '../../../kernel/ids.ts'
import { minute, second } from '../../../kernel/time.ts'
import type { FederationDeps } from '../deps.ts'
import type { Oidc } from '../protocols/oidc/oidc.ts'
import { FederationError, type ProvenIdentity } from '../protocols/proven-identity.ts'
import { oidcOf, providerIssuer } from '../providers/kinds.ts'
import { mappedClaimsOf } from '../providers/mapped-claims.ts'
import { findProvider, type ProviderRow } from '../providers/providers.queries.ts'
import type { UnresolvedAccount } from '../sign-in/account-resolution.ts'
import type { Provisioning, ProvisioningCandidate } from '../sign-in/provisioning.ts'
import * as queries from './enrolling.queries.ts'

/** Most providers in one list. */
const mostEnrollers = 50
const issuedWithinSeconds = (idTokenMinutes * minute) / second

/**
 * Proof that an enrolling person brings from a provider: an ID token, or a code that the provider gave to one of our
 * mobile clients.
 */
export type EnrollmentGrant =
  | { idToken: string }
  | { code: string; verifier: string; redirectUri: string; clientId: string; iss: string | undefined }
/** Reason why no person was proved. */
export type NotProven = { refused: FederationError['reason'] | UnresolvedAccount | 'unknown_provider' }
/** Public settings of a provider for an enrolling application. The last three are for OpenID Connect. */
export type Enroller = Pick<ProviderRow, 'provider_id' | 'name' | 'kind'> & {
  issuer: string
  client_ids: string[]
  scopes: string[]
  device_code: boolean
}

/** Providers that tell the owner of a device at enrollment. Enrollment decides about the device itself. */
export function createEnrolling({
  db,
  oidc,
  provisioning,
}: Pick<FederationDeps, 'db'> & { oidc: Pick<Oidc, 'finish' | 'verify'>; provisioning: Provisioning }) {
  /** The clients of mobile applications are public, so their codes are exchanged without a secret. */
  async function prove(provider: ProviderRow, grant: EnrollmentGrant, nonce: string): Promise<ProvenIdentity> {
    const { kind, issuer, mobile_client_ids: audiences, scopes } = oidcOf(provider)
    const mappedClaims = mappedClaimsOf(db, provider)
    const within = { audiences, nonce, maxAgeSeconds: issuedWithinSeconds }
    if ('idToken' in grant) return oidc.verify({ kind, issuer, mappedClaims }, grant.idToken, within)
    const { code, verifier, redirectUri, clientId, iss } = grant
    if (!audiences.includes(clientId))
      throw new FederationError('audience', 'The code was issued to another application.')
    // The application has compared the state of the answer itself, so any value serves.
    const state = newUuid()
    const answer = new URLSearchParams({ code, state, ...(iss !== undefined && { iss }) })
    const client = { kind, issuer, clientId, clientSecret: undefined, scopes, mappedClaims }
    return oidc.finish(client, answer, { redirectUri, state, nonce, verifier })
  }

  return {
    enrollers: (tenant: TenantId): Promise<Enroller[]> =>
      db.inTenant(tenant, async (tx) =>
        (await queries.selectEnrollers(tx, tenant, mostEnrollers)).flatMap((row) => {
          const { provider_id, name, kind, oidc } = row
          const issuer = providerIssuer(row)
          if (issuer === undefined) return []
          return {
            provider_id,
            name,
            kind,
            issuer,
            client_ids: oidc?.mobile_client_ids ?? [],
            scopes: oidc?.scopes ?? [],
            device_code: oidc !== null && oidc.device_code !== 'off',
          }
        }),
      ),

    /** Returns those of the providers that enroll devices. They stay so until commit. */
    holdEnrollers: async (tx: Tx, tenant: TenantId, providerIds: readonly string[]): Promise<ReadonlySet<string>> =>
      new Set(await queries.holdEnrollers(tx, tenant, providerIds)),

    /** Returns the person that a provider vouches for, or the reason for the refusal. */
    identify: async (
      by: Source,
      providerId: string,
      { nonce, ...grant }: EnrollmentGrant & { nonce: string },
    ): Promise<ProvisioningCandidate | NotProven> => {
      if ('redirectUri' in grant && !URL.canParse(grant.redirectUri)) failField('redirect_uri', 'is not a URL')
      const provider = await db.inTenant(by.tenantId, (tx) => findProvider(tx, by.tenantId, providerId))
      if (!provider) return { refused: 'unknown_provider' }
      if (!provider.enabled || !provider.enrollment) return { refused: 'turned_off' }
      try {
        return provisioning(by, provider, await prove(provider, grant, nonce), { allows: (held) => held.enrollment })
      } catch (e) {
        if (e instanceof FederationError) return { refused: e.reason }
        throw e
      }
    },
  }
}
