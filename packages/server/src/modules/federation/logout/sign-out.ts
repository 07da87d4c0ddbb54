import type { HtmlPageAnswer } from '../../../http/answer/html-page.ts'
import type { Visit } from '../../../http/pages/page.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { decodeId } from '../../../kernel/ids.ts'
import { storable } from '../../../kernel/text.ts'
import { second } from '../../../kernel/time.ts'
import { rejectOnAbort } from '../../../outbound/reject-on-abort.ts'
import { escapeHtml, pageHeaders, renderPage } from '../../identity/index.ts'
import type { FederationDeps } from '../deps.ts'
import type { Oidc } from '../protocols/oidc/oidc.ts'
import { oidcOf } from '../providers/kinds.ts'
import { findProvider } from '../providers/providers.queries.ts'
import { plainTenant } from '../providers/sign-in-paths.ts'
import type { SignInOpening } from '../sign-in/opening.ts'

/** A sign-out does not wait longer for a provider that does not answer. */
const withinMs = 2 * second

/**
 * Ends the session at the provider too (OpenID Connect RP-Initiated Logout), for a browser whose session here has
 * already ended. A provider that cannot be asked, or has no such endpoint, is skipped.
 */
export function createSignOut(
  deps: Pick<FederationDeps, 'db' | 'tenancy' | 'publicUrl'> & {
    oidc: Pick<Oidc, 'endSession'>
    opening: Pick<SignInOpening, 'takeStep'>
  },
) {
  const { db, tenancy, publicUrl, oidc, opening } = deps

  async function wayOut(tenant: TenantId, providerId: string): Promise<{ name: string; url: string } | undefined> {
    const row = await db.inTenant(tenant, (tx) => findProvider(tx, tenant, providerId))
    if (!row || row.kind === 'saml') return undefined
    const { kind, issuer, client_id: clientId } = oidcOf(row)
    const logoutUrl = oidc.endSession({ kind, issuer }, { clientId, returnTo: `${publicUrl}/admin/signed-out` })
    const url = await rejectOnAbort(logoutUrl, AbortSignal.timeout(withinMs)).catch(() => undefined)
    return url === undefined ? undefined : { name: row.name, url }
  }

  const page = (out: { name: string; url: string } | undefined): HtmlPageAnswer => ({
    headers: pageHeaders,
    body: renderPage(
      'Signed out',
      `<h1>You are signed out</h1>
<p>Your session on this site has ended.${out ? ` You may still be signed in at ${escapeHtml(out.name)}.` : ''}</p>
${out ? `<a class="choice" href="${escapeHtml(out.url)}">Sign out at ${escapeHtml(out.name)} too</a>\n` : ''}<a class="choice" href="/admin/login">Sign in again</a>`,
    ),
  })

  return {
    /** Returns the address where a browser ends its session with a provider; undefined if it is unknown. */
    endSessionAt: async (tenant: TenantId, providerId: string): Promise<string | undefined> =>
      (await wayOut(tenant, providerId))?.url,

    pages: {
      '/admin/signed-out': async ({ query, caller }: Visit): Promise<HtmlPageAnswer> => {
        const providerId = decodeId('identity_provider', query.get('provider') ?? '')
        if (providerId === undefined) return page(undefined)
        await opening.takeStep(caller)
        const tenant = await tenancy.tenantByName(storable(query.get('tenant') ?? plainTenant, 128))
        return page(tenant && (await wayOut(tenant, providerId)))
      },
    },
  }
}
