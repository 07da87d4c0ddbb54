import { createHash } from 'node:crypto'
import { mintToken, seal, unseal } from '@holdfast/crypto'
import { RunAgain, type Tx } from '../../db/database.ts'
import type { Caller, Source, TenantId } from '../../kernel/actor.ts'
import { AppError, unauthorized } from '../../kernel/app-error.ts'
import { sourceBlock } from '../../kernel/cidr.ts'
import { encodeId } from '../../kernel/ids.ts'
import { createRateLimiter } from '../../kernel/rate-limit.ts'
import { storable } from '../../kernel/text.ts'
import { minute } from '../../kernel/time.ts'
import { held } from '../../memory/held.ts'
import type { FederationDeps } from './deps.ts'
import * as links from './links.queries.ts'
import { groupsOf } from './oidc/claims.ts'
import type { Oidc } from './oidc/oidc.ts'
import { FederationError, type Proven } from './proven.ts'
import { findProvider, holdProvider, type ProviderRow } from './providers.queries.ts'
import type { Providers } from './providers.ts'
import * as queries from './sign-in.queries.ts'

/** How long somebody may take at the provider. */
const waitsForMs = 10 * minute
/** Of one address; each is a row. */
const startsPerMinute = 600
const mostOffered = 50

type Refusal =
  | FederationError['reason']
  | 'turned_off'
  | 'not_linked'
  | 'no_username'
  | 'username_taken'
  | 'not_admitted'
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
  const starts = createRateLimiter()
  // Anybody may ask for the page that shows them.
  const offered = held<readonly Offered[]>(deps, {
    kinds: ['identity_provider'],
    load: (tenant) => db.inTenant(tenant, (tx) => queries.selectOffered(tx, tenant, mostOffered)),
  })
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

  async function refuse(by: Source, provider: ProviderRow, reason: Refusal, subject = ''): Promise<never> {
    const target = partyOf(provider)
    const fields = { username: storable(subject, 256), failure_reason: `${provider.kind}:${reason}` }
    await audit.note(by, 'login.failed', fields, { outcome: 'refused', target })
    return unauthorized()
  }

  /** What the provider says of groups and roles, among those that it decides about. */
  function saidBy({ claims, group_mappings, role_mappings, kind }: ProviderRow, proven: Proven) {
    const decides = group_mappings.length + role_mappings.length > 0
    // A provider that says nothing of groups says that there are none: Okta leaves an empty claim out.
    const values = new Set(decides ? groupsOf(kind, proven.claims, claims.groups) : [])
    const said = <T extends string>(list: readonly { value: string; to: T }[]) => ({
      decides: [...new Set(list.map((m) => m.to))],
      says: new Set<string>(list.filter((m) => values.has(m.value)).map((m) => m.to)),
    })
    return {
      groups: said(group_mappings.map(({ value, group_id: to }) => ({ value, to }))),
      roles: said(role_mappings.map(({ value, role: to }) => ({ value, to }))),
    }
  }

  /** Whom nobody linked gets a user of their own, where the provider may make one. */
  async function provision(tx: Tx, source: Source, provider: ProviderRow, proven: Proven) {
    if (provider.provisioning !== 'create') return refuseWith('not_linked')
    const named = (name: string) => {
      const value = Object.hasOwn(proven.claims, name) ? proven.claims[name] : undefined
      return typeof value === 'string' && value !== '' ? value : undefined
    }
    const { username, email, display_name } = provider.claims
    const profile = { username: named(username), email: named(email), displayName: named(display_name) }
    const made = await people.provision(tx, source, profile, { id: provider.provider_id, name: provider.name })
    if (typeof made !== 'string') return { user_id: made.userId, provisioned: true }
    // Of two first sign-ins at once the second waited for the name.
    if (await links.findLink(tx, source.tenantId, accountOf(provider, proven))) throw new RunAgain('linked meanwhile')
    return refuseWith(made)
  }
  /** Somebody may have linked the account to another user meanwhile: then the user that was made goes again. */
  async function link(tx: Tx, tenant: TenantId, userId: string, account: links.Account, at: Date): Promise<void> {
    const row = { ...account, tenant_id: tenant, user_id: userId, provisioned: true, linked_at: at, last_login_at: at }
    if (!(await links.insertLink(tx, row))) throw new RunAgain('somebody linked the account meanwhile')
  }

  /** One transaction: who it is, what they may do, and their session. */
  async function open(by: Source, provider: ProviderRow, proven: Proven) {
    const tenant = by.tenantId
    const limits = (await tenancy.settings(tenant)).sessions
    const said = saidBy(provider, proven)
    const voucher = { id: provider.provider_id, name: provider.name }
    const source = { ...by, ...partyOf(provider) }
    const account = accountOf(provider, proven)
    return db
      .inTenant(tenant, async (tx) => {
        await people.hold(tx, by, said.roles.decides)
        // As it was when the code was exchanged: what has been changed meanwhile holds for the next attempt.
        const held = await holdProvider(tx, tenant, provider.provider_id)
        if (!held?.enabled || !held.sign_in || held.oidc.issuer !== provider.oidc.issuer) refuseWith('turned_off')
        const at = now()
        const known = await links.findLink(tx, tenant, account)
        const { user_id: userId, provisioned } = known ?? (await provision(tx, source, provider, proven))
        const username = (await people.admit(tx, tenant, userId)) ?? refuseWith('not_admitted')
        const isMoved = provisioned && (await people.follow(tx, source, userId, said, voucher))
        if (known) (await links.useLink(tx, tenant, userId, account, at)) || refuseWith('not_linked')
        else await link(tx, tenant, userId, account, at)
        const session = await people.openSession(
          tx,
          by,
          { userId, username },
          { by: voucher, authMethod: provider.kind, limits },
        )
        if (!known || isMoved) await changes.record(tx, tenant, [{ kind: 'user', subject: userId }])
        return session
      })
      .catch((e: unknown) => {
        if (e instanceof Refused) return e.reason
        throw e
      })
  }

  return {
    /** Those that a sign-in page offers, of a tenant by its name. */
    offered: async (tenantName: string): Promise<readonly Offered[]> => {
      const tenant = await tenancy.tenantByName(tenantName)
      return tenant === undefined ? [] : await offered.get(tenant)
    },

    /**
     * Sends a browser to a provider; `browser` is the value of its cookie, old or new. Throws `unauthorized` for
     * whatever can't be signed in with, and `rate_limited`.
     */
    begin: async (
      wanted: { tenantName: string; providerId: string; next: string | undefined; browser: string | undefined },
      caller: Caller,
    ): Promise<{ url: string; browser: string }> => {
      const wait = starts.take(sourceBlock(caller.sourceIp), startsPerMinute, performance.now())
      if (wait > 0)
        throw new AppError('rate_limited', 'too many sign-ins begin at this address', { retryAfterSeconds: wait })
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

const accountOf = ({ provider_id }: ProviderRow, { issuer, subject }: Proven) => ({ provider_id, issuer, subject })
const partyOf = ({ provider_id, name }: ProviderRow) => ({
  type: 'identity_provider' as const,
  id: encodeId('identity_provider', provider_id),
  name,
})

const refuseWith = (reason: Refusal): never => {
  throw new Refused(reason)
}
/** Undoes the transaction of a sign-in, and says why. */
class Refused extends Error {
  readonly reason: Refusal
  constructor(reason: Refusal) {
    super(reason)
    this.reason = reason
  }
}
