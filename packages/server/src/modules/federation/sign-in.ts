import { createHash } from 'node:crypto'
import { mintToken, seal, unseal } from '@holdfast/crypto'
import type { Caller, Source, TenantId } from '../../kernel/actor.ts'
import { AppError, unauthorized } from '../../kernel/app-error.ts'
import { sourceBlock } from '../../kernel/cidr.ts'
import { encodeId } from '../../kernel/ids.ts'
import { createRateLimiter } from '../../kernel/rate-limit.ts'
import { storable } from '../../kernel/text.ts'
import { minute } from '../../kernel/time.ts'
import { held } from '../../memory/held.ts'
import type { FederationDeps } from './deps.ts'
import type { Oidc } from './oidc/oidc.ts'
import { FederationError, type Proven } from './proven.ts'
import { findProvider, type ProviderRow } from './providers.queries.ts'
import type { Providers } from './providers.ts'
import { createRecognise, partyOf, Refused, saidBy, type Unrecognised } from './recognise.ts'
import * as queries from './sign-in.queries.ts'

/** How long somebody may take at the provider. */
const waitsForMs = 10 * minute
/** Of one address, on the way to a provider and back; each costs a transaction. */
const stepsPerMinute = 1200
const mostOffered = 50

const signIn = { allows: (held: ProviderRow) => held.sign_in, isSignIn: true }

type Refusal = FederationError['reason'] | Unrecognised
/** What the browser showed when it came back. */
type Return = { providerId: string; answer: URLSearchParams; browser: string | undefined }
export type Offered = { provider_id: string; name: string }
type SignedIn = { token: string; expiresAt: Date; next: string | null }

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()
const sealContext = (stateDigest: Buffer) => `sign_in_requests/${stateDigest.toString('base64url')}/verifier_jwe`

/**
 * Administrators sign in with an identity provider: one browser, one request, one answer. Whatever fails is the same
 * 401, and no other way in opens because of it; why is in the audit event.
 */
export function createSignIn(
  deps: Pick<
    FederationDeps,
    'db' | 'audit' | 'changes' | 'feed' | 'now' | 'readToken' | 'pepper' | 'kek' | 'publicUrl' | 'tenancy' | 'people'
  > & {
    oidc: Pick<Oidc, 'begin' | 'finish'>
    providers: Pick<Providers, 'openSecret'>
  },
) {
  const { db, audit, changes, now, readToken, pepper, kek, tenancy, people, oidc, providers } = deps
  const recognise = createRecognise(deps)
  const steps = createRateLimiter()
  // Anybody may ask for the page that shows them.
  const heldOffered = held<readonly Offered[]>(deps, {
    kinds: ['identity_provider'],
    load: (tenant) => db.inTenant(tenant, (tx) => queries.selectOffered(tx, tenant, mostOffered)),
  })
  async function offered(tenantName: string): Promise<readonly Offered[]> {
    const tenant = await tenancy.tenantByName(tenantName)
    return tenant === undefined ? [] : await heldOffered.get(tenant)
  }
  const redirectUri = (providerId: string) => redirectUriOf(deps.publicUrl, providerId)

  const clientOf = async (row: ProviderRow) => ({
    kind: row.kind,
    issuer: row.oidc.issuer,
    clientId: row.oidc.client_id,
    clientSecret: await providers.openSecret(row),
    scopes: row.oidc.scopes,
  })
  const strangerAt = (tenantId: TenantId, caller: Caller): Source => ({
    ...caller,
    tenantId,
    claim: null,
    type: 'address',
    id: null,
    name: caller.sourceIp,
  })

  function takeStep({ sourceIp }: Caller): void {
    const wait = steps.take(sourceBlock(sourceIp), stepsPerMinute, performance.now())
    if (wait > 0)
      throw new AppError('rate_limited', 'too many sign-ins begin at this address', { retryAfterSeconds: wait })
  }

  async function refuse(by: Source, provider: ProviderRow, reason: Refusal, subject = ''): Promise<never> {
    const target = partyOf(provider)
    const fields = { username: storable(subject, 256), failure_reason: `${provider.kind}:${reason}` }
    await audit.note(by, 'login.failed', fields, { outcome: 'refused', target })
    return unauthorized()
  }

  /** One transaction: who it is, what they may do, and their session. */
  async function open(by: Source, provider: ProviderRow, proven: Proven) {
    const tenant = by.tenantId
    const limits = (await tenancy.settings(tenant)).sessions
    const said = saidBy(provider, proven)
    const voucher = { id: provider.provider_id, name: provider.name }
    return db
      .inTenant(tenant, async (tx) => {
        const { isMoved, ...who } = await recognise(tx, by, { provider, proven, said }, signIn)
        const session = await people.openSession(tx, by, who, { by: voucher, authMethod: provider.kind, limits })
        if (isMoved) await changes.record(tx, tenant, [{ kind: 'user', subject: who.userId }])
        return session
      })
      .catch((e: unknown) => {
        if (e instanceof Refused) return e.reason
        throw e
      })
  }

  return {
    /** Those that a sign-in page offers, of a tenant by its name. */
    offered,
    /** The same for a name that anybody may make up. */
    offeredOf: (tenantName: string, caller: Caller): Promise<readonly Offered[]> => {
      takeStep(caller)
      return offered(tenantName)
    },

    /**
     * Sends a browser to a provider; `browser` is the value of its cookie, old or new. Throws `unauthorized` for
     * whatever can't be signed in with, and `rate_limited`.
     */
    begin: async (
      wanted: { tenantName: string; providerId: string; next: string | undefined; browser: string | undefined },
      caller: Caller,
    ): Promise<{ url: string; browser: string }> => {
      takeStep(caller)
      const tenant = (await tenancy.tenantByName(wanted.tenantName)) ?? unauthorized()
      const provider =
        (await db.inTenant(tenant, (tx) => findProvider(tx, tenant, wanted.providerId))) ?? unauthorized()
      const by = strangerAt(tenant, caller)
      if (!provider.enabled || !provider.sign_in) return refuse(by, provider, 'turned_off')
      const { url, state, nonce, verifier } = await oidc
        .begin(await clientOf(provider), { redirectUri: redirectUri(provider.provider_id) })
        .catch((e: unknown) => {
          if (e instanceof FederationError) return refuse(by, provider, e.reason)
          throw e
        })
      const known = wanted.browser === undefined ? undefined : readToken(wanted.browser)
      const browser = known?.prefix === 'hfl' && known.tenant === tenant ? known : mintToken(pepper, 'hfl', tenant)
      const state_digest = digestOf(state)
      const verifier_jwe = await seal(kek, sealContext(state_digest), Buffer.from(verifier))
      await db.inTenant(tenant, (tx) =>
        queries.insertRequest(tx, {
          tenant_id: tenant,
          state_digest,
          provider_id: provider.provider_id,
          browser_digest: browser.digest,
          nonce,
          verifier_jwe,
          next_path: wanted.next ?? null,
          expires_at: new Date(now().getTime() + waitsForMs),
        }),
      )
      return { url, browser: browser.token }
    },

    /** The browser is back. Throws `unauthorized` for everything that is not this browser's one answer. */
    finish: async ({ providerId, answer, browser }: Return, caller: Caller): Promise<SignedIn> => {
      const state = answer.get('state')
      const shown = browser === undefined ? undefined : readToken(browser)
      if (state === null || shown?.prefix !== 'hfl') return unauthorized()
      takeStep(caller)
      const tenant = shown.tenant
      const by = strangerAt(tenant, caller)
      const key = { state_digest: digestOf(state), provider_id: providerId, browser_digest: shown.digest }
      const { request, provider } = await db.inTenant(tenant, async (tx) => ({
        request: await queries.takeRequest(tx, tenant, key, now()),
        provider: await findProvider(tx, tenant, providerId),
      }))
      if (!request || !provider) return unauthorized()
      const verifier = (await unseal(kek, sealContext(request.state_digest), request.verifier_jwe)).toString()
      const known = { redirectUri: redirectUri(providerId), state, nonce: request.nonce, verifier }
      const opened = await clientOf(provider)
        .then((client) => oidc.finish(client, answer, known))
        .then(async (proven) => ({ proven, session: await open(by, provider, proven) }))
        .catch((e: unknown) => {
          if (e instanceof FederationError) return refuse(by, provider, e.reason)
          throw e
        })
      const { session, proven } = opened
      if (typeof session === 'string') return refuse(by, provider, session, proven.subject)
      return { token: session.minted.token, expiresAt: session.expiresAt, next: request.next_path }
    },
  }
}
export type SignIn = ReturnType<typeof createSignIn>

export const redirectUriOf = (publicUrl: string, providerId: string): string =>
  `${publicUrl}/admin/login/oidc/callback/${encodeId('identity_provider', providerId)}`
