import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeUser, signInAs, untilStatus } from '../support/actors/people.ts'
import { openBrowser } from '../support/clients/browser.ts'
import { cookieOf, send } from '../support/clients/raw-http.ts'
import { startFederated, whoIs } from '../support/providers/oidc-sign-in.ts'

test('the own session ends first; then a browser is told where the one with the provider ends', async (t) => {
  const { kit, params, provider, real, set, signIn } = await startFederated(t, {
    people: { anna: { name: 'anna' } },
    settings: { provisioning: 'create' },
    replicas: 2,
  })
  const leave = async () => {
    const { answer } = await signIn()
    const cookie = cookieOf(answer)
    const headers = { cookie, origin: kit.publicUrl }
    const left = await send(kit.url, { method: 'POST', path: '/admin/logout', json: {}, headers })
    for (const replica of kit.replicas)
      await untilStatus(() => send(replica.url, { path: '/v1/admin/me', headers: { cookie } }), 401)
    return left.json as { changed: boolean; end_session_url: string | null }
  }
  const { changed, end_session_url } = await leave()
  const url = new URL(String(end_session_url))
  assert.deepEqual(
    [changed, url.origin, Object.fromEntries(url.searchParams)],
    [true, real.issuer, { client_id: 'holdfast', post_logout_redirect_uri: `${kit.publicUrl}/admin/signed-out` }],
  )
  const asked = await fetch(url)
  assert.equal(asked.status, 200, 'the provider knows where it sends the browser back to')
  assert.match(await asked.text(), /sign-out|logout/i)

  // A browser without a script: a page of ours with the way on.
  const { browser } = await signIn()
  const out = await browser.submit(await browser.get('/admin'))
  assert.deepEqual(
    [out.status, out.headers.location],
    [303, `/admin/signed-out?provider=${provider.provider_id}&tenant=default`],
  )
  const page = await browser.follow(out)
  assert.ok(page.text.includes(`<a class="choice" href="${url.href.replaceAll('&', '&amp;')}">Sign out at Login too<`))
  assert.equal(await whoIs(kit, browser.cookies.get('holdfast_session')), 401)
  const stranger = openBrowser(kit)
  for (const query of ['', '?provider=idp_nothing', `?provider=${provider.provider_id}&tenant=nobody`]) {
    const plain = await stranger.get(`/admin/signed-out${query}`)
    assert.deepEqual([plain.status, plain.text.includes('Sign out at')], [200, false])
  }

  // If the provider is unavailable, the session here still ends.
  await makeUser(kit, 'ana')
  const local = await signInAs(kit, 'ana')
  assert.deepEqual((await local.post('/admin/logout')).json, { changed: true, end_session_url: null })
  const last = await signIn()
  await set({ enabled: false, oidc: { issuer: 'http://127.0.0.1:9', client_secret: null } })
  assert.equal(await whoIs(kit, last.browser.cookies.get('holdfast_session')), 401)
  assert.equal((await kit.admin.testIdentityProvider({ params })).ok, false)
  const gone = await stranger.get(`/admin/signed-out?provider=${provider.provider_id}`)
  assert.deepEqual([gone.status, gone.text.includes('Sign out at')], [200, false])
})
