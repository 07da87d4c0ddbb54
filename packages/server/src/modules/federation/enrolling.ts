import type { Tx } from '../../db/database.ts'
import type { Source, TenantId } from '../../kernel/actor.ts'
import { failField } from '../../kernel/app-error.ts'
import { newUuid } from '../../kernel/ids.ts'
import { minute, second } from '../../kernel/time.ts'
import type { FederationDeps } from './deps.ts'
import * as queries from './enrolling.queries.ts'
import type { Oidc } from './oidc/oidc.ts'
import { FederationError, type Proven } from './proven.ts'
import { findProvider, type ProviderRow } from './providers.queries.ts'
import { createRecognise, Refused, saidBy, type Unrecognised } from './recognise.ts'

/** What is listed at once. */
const mostEnrollers = 50
const issuedWithinSeconds = (10 * minute) / second

/** What somebody who enrolls brings from a provider: an ID token, or a code that a client of ours was given. */
export type EnrollmentGrant =
  | { idToken: string }
  | { code: string; verifier: string; redirectUri: string; clientId: string; iss: string | undefined }
/** Whose device it is, and on what terms; or why there is none. */
type Identified =
  | { userId: string; terms: { requires_approval: boolean; max_devices_per_user: number | null } }
  | { refused: FederationError['reason'] | Unrecognised | 'unknown_provider' }
export type Enroller = Awaited<ReturnType<typeof queries.selectEnrollers>>[number]

/** Providers that say whose a device is. Enrollment asks them; it decides about the device alone. */
export function createEnrolling({
  db,
  changes,
  now,
  people,
  oidc,
}: Pick<FederationDeps, 'db' | 'changes' | 'now' | 'people'> & { oidc: Pick<Oidc, 'finish' | 'verify'> }) {
  const recognise = createRecognise({ people, now })

  /** The clients of mobile applications are public: no secret goes with their codes. */
  async function prove(provider: ProviderRow, grant: EnrollmentGrant, nonce: string): Promise<Proven> {
    const { kind } = provider
    const { issuer, mobile_client_ids: audiences, scopes } = provider.oidc
    if ('idToken' in grant)
      return oidc.verify({ kind, issuer }, grant.idToken, { audiences, nonce, maxAgeSeconds: issuedWithinSeconds })
    const { code, verifier, redirectUri, clientId, iss } = grant
    if (!audiences.includes(clientId)) throw new FederationError('audience', 'The code is of another application.')
    // The application has compared the state of the answer itself.
    const state = newUuid()
    const answer = new URLSearchParams({ code, state, ...(iss !== undefined && { iss }) })
    const client = { kind, issuer, clientId, clientSecret: undefined, scopes }
    return oidc.finish(client, answer, { redirectUri, state, nonce, verifier })
  }

  return {
    enrollers: (tenant: TenantId): Promise<Enroller[]> =>
      db.inTenant(tenant, (tx) => queries.selectEnrollers(tx, tenant, mostEnrollers)),

    /** Which of these providers enroll devices; until commit it stays so. */
    holdEnrollers: async (tx: Tx, tenant: TenantId, providerIds: readonly string[]): Promise<ReadonlySet<string>> =>
      new Set(await queries.holdEnrollers(tx, tenant, providerIds)),

    /** Who somebody is whom a provider vouches for. Where it may make a user of them, it does. */
    identify: async (
      by: Source,
      providerId: string,
      { nonce, ...grant }: EnrollmentGrant & { nonce: string },
    ): Promise<Identified> => {
      if ('redirectUri' in grant && !URL.canParse(grant.redirectUri)) failField('redirect_uri', 'is no URL')
      const provider = await db.inTenant(by.tenantId, (tx) => findProvider(tx, by.tenantId, providerId))
      if (!provider) return { refused: 'unknown_provider' }
      if (!provider.enabled || !provider.enrollment) return { refused: 'turned_off' }
      try {
        const proven = await prove(provider, grant, nonce)
        const said = saidBy(provider, proven)
        // What the request stands for is the device, which comes in a transaction of its own.
        const source = { ...by, claim: null }
        const userId = await db.inTenant(by.tenantId, async (tx) => {
          const who = await recognise(tx, source, { provider, proven, said }, (held) => held.enrollment)
          if (who.isMoved) await changes.record(tx, by.tenantId, [{ kind: 'user', subject: who.userId }])
          return who.userId
        })
        const { requires_approval, max_devices_per_user } = provider
        return { userId, terms: { requires_approval, max_devices_per_user } }
      } catch (e) {
        if (e instanceof FederationError || e instanceof Refused) return { refused: e.reason }
        throw e
      }
    },
  }
}
