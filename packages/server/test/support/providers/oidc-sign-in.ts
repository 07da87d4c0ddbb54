import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { changeIdentityProvider } from '@holdfast/sdk'
import { openBrowser } from '../clients/browser.ts'
import { type Kit, type Replica, startKit } from '../deployment/deployment.ts'
import { opened } from '../domain/notifications.ts'
import { startRealProvider } from './real-oidc-provider.ts'

type Given = Parameters<typeof changeIdentityProvider>[2]
type People = Parameters<typeof startRealProvider>[1]['people']
export const clientSecret = 'a secret between two servers'

/** A deployment whose users sign in at an `oidc-provider`. `settings` override the provider's settings. */
export async function startFederated(
  t: TestContext,
  { people, settings = {}, ...options }: { people: People; settings?: Given } & Parameters<typeof startKit>[1],
) {
  // Ends before the deployment checks for leaks.
  const ends: (() => unknown)[] = []
  t.after(() => Promise.all(ends.map((end) => end())))
  const kit = await startKit(t, { ...options, config: { ...opened, ...options?.config } })
  const made = await kit.admin.createIdentityProvider({
    body: {
      name: 'Login',
      kind: 'oidc',
      enabled: false,
      oidc: { issuer: 'https://192.0.2.1', client_id: 'holdfast', client_secret: clientSecret },
    },
  })
  const params = { provider_id: made.provider_id }
  const real = await startRealProvider(
    { after: (end) => void ends.push(end as () => unknown) },
    {
      clients: [
        {
          client_id: 'holdfast',
          client_secret: clientSecret,
          redirect_uris: [String(made.oidc?.redirect_uri)],
          post_logout_redirect_uris: [`${kit.publicUrl}/admin/signed-out`],
        },
      ],
      people,
    },
  )
  const set = (named: Parameters<typeof changeIdentityProvider>[2]) =>
    changeIdentityProvider(kit.admin, { params }, named)
  const scopes = ['openid', 'profile', 'email', 'groups']
  const claims = { ...made.claims, username: 'name' }
  await set({ enabled: true, claims, oidc: { issuer: real.issuer, client_secret: clientSecret, scopes }, ...settings })

  const start = `/admin/login/oidc?provider=${made.provider_id}`
  /**
   * Signs `login` in at the provider. Returns the callback path of this deployment, to which the browser is redirected.
   */
  const wayBack = async (
    browser = openBrowser(kit),
    login = 'anna',
    path = start,
    replica: Pick<Replica, 'url'> = kit,
  ) => {
    const sent = await browser.get(path, replica)
    assert.equal(sent.status, 303, sent.text)
    const { pathname, search } = await real.signIn(String(sent.headers.location), login)
    return { browser, path: pathname + search }
  }
  return {
    kit,
    real,
    provider: made,
    params,
    set,
    start,
    wayBack,
    signIn: async (login = 'anna', more = '', replica: Pick<Replica, 'url'> = kit) => {
      const browser = openBrowser(replica)
      const { path } = await wayBack(browser, login, start + more, replica)
      return { browser, answer: await browser.get(path, replica) }
    },
    /** The reasons of the newest refused sign-ins, newest first. */
    reasons: async (limit = 10) =>
      (await kit.admin.listAuditEvents({ query: { kind: 'login.failed', limit } })).items.map(
        (event) => 'failure_reason' in event && event.failure_reason,
      ),
  }
}
export type Federated = Awaited<ReturnType<typeof startFederated>>
/** The username that the browser is signed in as, or the status of the refusal. */
export const whoIs = async (kit: Kit, cookie: string | undefined, replica: Pick<Replica, 'url'> = kit) => {
  const browser = openBrowser(replica)
  if (cookie !== undefined) browser.cookies.set('holdfast_session', cookie)
  const got = await browser.get('/v1/admin/me')
  return got.status === 200 ? (got.json as { user: { username: string } }).user.username : got.status
}
