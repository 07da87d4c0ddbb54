import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Role, roles } from '@holdfast/contract/vocabulary'
import { makeUser, passwordOf } from '../support/actors/people.ts'
import { cookieOf, getExactPath, type RawRequest, send } from '../support/clients/raw-http.ts'
import { assertStrictHeaders } from '../support/clients/strict-pages.ts'
import { adminPassword, type Kit, startKit } from '../support/deployment/deployment.ts'
import { docsOfRun } from '../support/deployment/docs-build.ts'

const asksAgain = 'private, no-cache'
const forever = 'private, max-age=31536000, immutable'
const origin = 'http://site.test'
const html = { accept: 'text/html' }
const site = docsOfRun!

/** Signs in and returns the cookie of the session. */
async function signIn(kit: Kit, json: Record<string, string> = { username: 'admin', password: adminPassword }) {
  const entered = await send(kit.url, { method: 'POST', path: '/admin/login', json })
  assert.equal(entered.status, 200, entered.text)
  return cookieOf(entered)
}

type Get = (path: string, sent?: Partial<RawRequest>) => ReturnType<typeof send>
/** Requests paths of the site with a cookie. */
const createGet =
  (kit: Kit, cookie: string): Get =>
  (path, { headers, ...sent } = {}) =>
    send(kit.url, { ...sent, path: `/admin/docs${path}`, headers: { ...html, cookie, ...headers } })

/** Requests every page, every file that a page loads, and every file of the build. */
async function getWholeSite(get: Get) {
  assert.ok(site.pages.size > 50)
  const loaded = new Set<string>()
  for (const path of site.pages.keys()) {
    const address = `/${path.replace(/^index\.html$/, '')}`
    const got = await get(address)
    assert.equal(got.status, path === '404.html' ? 404 : 200, path)
    assert.equal(got.headers['content-type'], 'text/html; charset=utf-8')
    assertStrictHeaders(got, asksAgain, path)
    for (const [tag, to = ''] of got.text.matchAll(/<(?:link|script|img)\b[^>]*\s(?:href|src)="([^"]*)"[^>]*>/g)) {
      const url = new URL(to, `${origin}/admin/docs${address}`)
      assert.equal(url.origin, origin, `${path}: ${tag}`)
      loaded.add(url.pathname.replace(/^\/admin\/docs/, ''))
    }
  }
  const types: Record<string, string> = {
    css: 'text/css; charset=utf-8',
    js: 'text/javascript; charset=utf-8',
    json: 'application/json; charset=utf-8',
    png: 'image/png',
    svg: 'image/svg+xml',
  }
  const endOf = (path: string) => path.split('.').at(-1)!
  assert.deepEqual([...new Set(Array.from(loaded, endOf))].sort(), ['css', 'js', 'png', 'svg'])
  const files = new Set([...loaded, ...Array.from(site.assets.keys(), (path) => `/${path}`)])
  assert.equal(files.size, site.assets.size)
  for (const path of files) {
    const got = await get(path)
    assert.deepEqual([got.status, got.headers['content-type']], [200, types[endOf(path)]], path)
    assertStrictHeaders(got, forever, path)
  }
}

async function keepCopies(get: Get) {
  for (const [path, codings] of [
    ['/audit.html', [undefined, 'gzip']],
    [`/${[...site.assets.keys()].find((path) => path.endsWith('.css'))}`, [undefined, 'gzip', 'br']],
  ] as const) {
    const tags = new Set<unknown>()
    for (const coding of codings) {
      const headers = coding ? { 'accept-encoding': coding } : {}
      const got = await get(path, { headers })
      assert.deepEqual([got.status, got.headers['content-encoding']], [200, coding], path)
      assert.match(String(got.headers.vary), /accept-encoding/)
      tags.add(got.headers.etag)
      const known = await get(path, { headers: { ...headers, 'if-none-match': String(got.headers.etag) } })
      assert.deepEqual([known.status, known.text, known.headers.etag], [304, '', got.headers.etag])
      const head = await get(path, { method: 'HEAD', headers })
      const { etag, 'content-length': length } = got.headers
      assert.deepEqual([head.status, head.text, head.headers.etag], [200, '', etag])
      assert.equal(head.headers['content-length'], length)
    }
    assert.equal(tags.size, codings.length, 'each coding has a tag of its own')
  }
}

async function applyTheme(kit: Kit, cookie: string) {
  const page = (theme: string) => createGet(kit, `${cookie}; holdfast_theme=${theme}`)('/siem.html')
  const pages = [await page('light'), await page('dark'), await page('"><script>')]
  assert.deepEqual(
    pages.map(({ text }) => /<html [^>]*>/.exec(text)?.[0]),
    ['<html lang="en" data-theme="light">', '<html lang="en" data-theme="dark">', '<html lang="en">'],
  )
  assert.equal(new Set(pages.map(({ headers }) => headers.etag)).size, 3)
  for (const { headers } of pages) assert.equal(headers.vary, 'accept-encoding, cookie')
}

async function refuseOtherPaths(kit: Kit, cookie: string) {
  const get = createGet(kit, cookie)
  for (const path of ['nothing.html', 'a/b/c', 'audit', 'audit.html/', 'manifest.json', '__proto__', 'assets/']) {
    const got = await get(`/${path}`)
    assert.equal(got.status, 404, path)
    assert.match(got.text, /<h1>No such page<\/h1>/)
    assert.match(got.text, /href="\/admin\/docs\/assets\//, 'the page finds its files from any depth')
    assertStrictHeaders(got, asksAgain, path)
  }
  for (const path of [
    '../package.json',
    '..%2f..%2fpackage.json',
    '%2e%2e/%2e%2e/etc/passwd',
    '/etc/passwd',
    '%00',
    '%',
  ]) {
    const got = await getExactPath(kit.url, `/admin/docs/${path}`, cookie)
    assert.match(got, /^HTTP\/1\.1 404 /, path)
    assert.doesNotMatch(got, /root:|"workspaces"/)
  }
  const folder = await get('')
  assert.deepEqual([folder.status, folder.headers.location], [303, '/admin/docs/'])
  assert.equal((await get('/audit.html', { method: 'POST', form: {} })).status, 404)
}

async function askToSignIn(kit: Kit) {
  for (const path of ['', '/', '/audit.html', '/nothing.html', `/${site.assets.keys().next().value}`]) {
    const got = await createGet(kit, '')(path)
    const next = new URLSearchParams({ next: `/admin/docs${path}` })
    assert.deepEqual([got.status, got.headers.location], [303, `/admin/login?${next}`])
  }
  const json = { username: 'admin', password: adminPassword }
  const form = { ...json, next: '/admin/docs/audit.html' }
  const headers = { 'sec-fetch-site': 'same-origin' }
  const entered = await send(kit.url, { method: 'POST', path: '/admin/login', form, headers })
  assert.deepEqual([entered.status, entered.headers.location], [303, '/admin/docs/audit.html'])
  const byKey = await createGet(kit, '')('/', { headers: { authorization: `Bearer ${kit.adminKey}` } })
  assert.equal(byKey.status, 403, 'an API key has no page')
}

/** Signs in once with each role, in another tenant. */
async function letEveryRoleIn(kit: Kit) {
  const tenant = await kit.newTenant('acme')
  for (const role of Object.keys(roles).filter((name) => name !== 'platform_admin') as Role[]) {
    const username = `of-${role.replaceAll('_', '-')}`
    const password = passwordOf(username)
    await kit.app.identity.createUser(tenant, { username, password, roles: [role] })
    const get = createGet(kit, await signIn(kit, { username: `acme/${username}`, password }))
    assert.equal((await get('/audit.html')).status, 200, role)
  }
}

async function changePasswordFirst(kit: Kit) {
  const user_id = await makeUser(kit, 'ana')
  const { secret } = await kit.admin.changePassword({ body: { user_id, generate: true } })
  const get = createGet(kit, await signIn(kit, { username: 'ana', password: String(secret) }))
  assert.match(String((await get('/audit.html')).headers.location), /^\/admin\/password\?next=/)
}

test('the documentation of an installation', async (t: TestContext) => {
  const kit = await startKit(t)
  const cookie = await signIn(kit)
  await t.test('each page and file is there, strict, and loads nothing of another origin', () =>
    getWholeSite(createGet(kit, cookie)),
  )
  await t.test('browsers keep copies and ask with a tag of each coding', () => keepCopies(createGet(kit, cookie)))
  await t.test('a page has the theme of the console', () => applyTheme(kit, cookie))
  await t.test('other paths get the page for unknown addresses, and lead to no file', () =>
    refuseOtherPaths(kit, cookie),
  )
  await t.test('without a session a page leads to the sign-in, which leads back', () => askToSignIn(kit))
  await t.test('every role of every tenant may read', () => letEveryRoleIn(kit))
  await t.test('a person who must change the password does that first', () => changePasswordFirst(kit))
})
