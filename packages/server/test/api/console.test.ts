import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { changeSecuritySettings } from '@holdfast/sdk'
import { paths } from '../../../console/src/paths.ts'
import { productVersion } from '../../src/modules/identity/signin/all-pages.ts'
import { createAuthenticator, makeUser, passwordOf, untilNextStep } from '../support/actors/people.ts'
import { openBrowser } from '../support/clients/browser.ts'
import { getExactPath, send } from '../support/clients/raw-http.ts'
import { assertStrictHeaders, assertStrictPage, bootOf } from '../support/clients/strict-pages.ts'
import { consoleOfRun } from '../support/deployment/console-build.ts'
import { adminPassword, createClock, type Kit, startKit } from '../support/deployment/deployment.ts'

const root = join(import.meta.dirname, '../../../..')
const html = { accept: 'text/html' }
const forever = 'public, max-age=31536000, immutable'
const titleOf = (text: string) => /<title>([^<]*) · Holdfast<\/title>/.exec(text)?.[1]
const addressesIn = (text: string) =>
  Array.from(text.matchAll(/(?:href|src)="(\/admin\/assets\/[^"]+)"/g), ([, a]) => a!)
/** An address of each view. */
const addressOf = (path: string) => path.replaceAll(/\$\w+/g, 'x_1')

async function signedIn(kit: Kit, typed = { username: 'admin', password: adminPassword }) {
  const browser = openBrowser(kit)
  await browser.submit(await browser.get('/admin/login'), typed)
  return browser
}

/** Fetches an answer as bytes; the other helpers return text. */
const bytesOf = async (kit: Kit, path: string, headers: Record<string, string> = {}) => {
  const response = await fetch(new URL(path, kit.url), { headers: { 'accept-encoding': 'identity', ...headers } })
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) }
}

/** The end for inactivity moves with each request. */
const withoutIdle = (me: Record<string, unknown>) => ({
  ...me,
  session: { ...(me.session as object), idle_expires_at: '' },
})

/** Modules that a page loads besides its script. */
const modulesIn = (text: string) =>
  Array.from(text.matchAll(/rel="modulepreload" href="\/admin\/assets\/([^"]+)"/g), ([, a]) => a!)
/** Modules of a view, from the build. */
const modulesOf = (path: string) => consoleOfRun?.views.get(path)?.preloads

async function getEachView(kit: Kit) {
  const browser = await signedIn(kit)
  const me = (await browser.get('/v1/admin/me')).json
  assert.ok(paths.length >= 11 && new Set(paths).size === paths.length)
  for (const path of paths) {
    const address = `${addressOf(path)}?tenant=tnt_x&q=a%20b`
    const got = await browser.get(address)
    assert.equal(got.status, 200, path)
    const boot = bootOf(got.text)
    assert.deepEqual({ ...boot, me: withoutIdle(boot.me) }, { me: withoutIdle(me), version: productVersion }, path)
    assert.match(got.text, /<html lang="en">/)
    for (const part of [
      '<title>Holdfast</title>',
      '<meta name="viewport" content="width=device-width, initial-scale=1">',
      '<meta name="color-scheme" content="light dark">',
      '<meta id="react-aria-pressable-style">',
      '<div id="root">',
      '<noscript>',
    ])
      assert.ok(got.text.includes(part), part)
    assert.deepEqual(modulesIn(got.text), modulesOf(path), path)
    assert.match(got.text, /<script type="module" src="\/admin\/assets\/main-[\w-]+\.js"><\/script>/)
    assert.match(got.text, /<link rel="stylesheet" href="\/admin\/assets\/main-[\w-]+\.css">/)
    const stranger = await openBrowser(kit).get(address)
    const next = stranger.headers.location
    assert.deepEqual([stranger.status, next], [303, `/admin/login?${new URLSearchParams({ next: address })}`])
  }
  for (const path of ['/admin/nothing', '/admin/devices/a/b', '/admin/assets', '/admin/Devices']) {
    const got = await browser.request({ path, headers: html })
    assert.deepEqual([got.status, titleOf(got.text)], [404, 'No such page'], path)
  }
  for (const path of ['/admin/', '/admin/alerts/', '/admin/devices/', '/admin/devices//']) {
    const got = await browser.request({ path: `${path}?q=1`, headers: html })
    assert.deepEqual([got.status, got.headers.location], [303, `${path.replace(/\/+$/, '')}?q=1`])
  }
  const head = await browser.request({ method: 'HEAD', path: '/admin/devices' })
  assert.deepEqual([head.status, head.text], [200, ''])
}

/** The name of a user or a tenant may hold any text. */
async function escapeDataBlock(kit: Kit) {
  const name = '</script><!--<script> &lt; "'
  const user_id = await makeUser(kit, 'eve')
  await kit.admin.changeUser({ body: { operation: 'update', user_id, user: { display_name: name } } })
  const { text } = await (await signedIn(kit, { username: 'eve', password: passwordOf('eve') })).get('/admin/me')
  assert.equal(bootOf(text).me.user?.display_name, name)
  assert.equal(text.match(/<\/script>/g)?.length, 2)
}

async function applyLooks(kit: Kit) {
  const browser = await signedIn(kit)
  const attributes = async (path: string) => /<html ([^>]*)>/.exec((await browser.get(path)).text)?.[1]
  const wish = (theme: string, density: string) => {
    browser.cookies.set('holdfast_theme', theme)
    browser.cookies.set('holdfast_density', density)
  }
  for (const path of ['/admin', '/admin/login', '/admin/password', '/admin/signed-out']) {
    wish('dark', 'compact')
    assert.equal(await attributes(path), 'lang="en" data-theme="dark" data-density="compact"', path)
    wish('light', 'roomy')
    assert.equal(await attributes(path), 'lang="en" data-theme="light" data-density="roomy"', path)
    wish('"><script>', 'dark')
    assert.equal(await attributes(path), 'lang="en"', path)
  }
  wish('dark', 'roomy')
  for (const got of [
    await browser.request({ path: '/admin/nothing', headers: html }),
    await browser.post('/admin/login', { username: 'admin', password: 'wrong' }),
  ])
    assert.match(got.text, /<html lang="en" data-theme="dark" data-density="roomy">/)
}

async function getFiles(kit: Kit) {
  const browser = await signedIn(kit)
  const pages = [await browser.get('/admin'), await browser.get('/admin/login')]
  const addresses = [...new Set(pages.flatMap(({ text }) => addressesIn(text)))]
  assert.deepEqual([...new Set(addresses.map((a) => a.split('.').at(-1)))].sort(), ['css', 'js', 'svg'])
  const types = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', svg: 'image/svg+xml' }
  for (const address of addresses) {
    const plain = await bytesOf(kit, address)
    const type = types[address.split('.').at(-1) as keyof typeof types]
    assert.deepEqual([plain.status, plain.headers.get('content-type')], [200, type])
    assert.equal(plain.headers.get('content-encoding'), null)
    const tags = new Set([plain.headers.get('etag')])
    for (const [accepts, coding] of [
      ['gzip, deflate, br, zstd', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0.5, gzip;q=0.8', 'gzip'],
      ['br;q=0, *', 'gzip'],
      ['*', 'br'],
      ['deflate', undefined],
      ['identity;q=0, zstd', undefined],
      ['br;q=x', undefined],
    ] as const) {
      const got = await send(kit.url, { path: address, headers: { 'accept-encoding': accepts } })
      assert.deepEqual([got.status, got.headers['content-encoding']], [200, coding], accepts)
      assertStrictHeaders(got, forever, address)
      assert.equal(got.headers.vary, 'accept-encoding')
      tags.add(got.headers.etag ?? null)
      const headers = { 'accept-encoding': accepts, 'if-none-match': String(got.headers.etag) }
      const known = await send(kit.url, { path: address, headers })
      assert.deepEqual([known.status, known.text, known.headers.etag], [304, '', got.headers.etag])
    }
    assert.equal(tags.size, 3, 'each coding has a tag of its own')
    const head = await send(kit.url, { method: 'HEAD', path: address })
    assert.deepEqual([head.status, head.headers['content-length']], [200, String(plain.bytes.length)])
  }
  for (const path of [
    '/admin/assets/',
    '/admin/assets/nothing.js',
    '/admin/assets/manifest.json',
    '/admin/assets/../manifest.json',
    '/admin/assets/..%2fmanifest.json',
    '/admin/assets/%2e%2e/%2e%2e/package.json',
    '/admin/assets//etc/passwd',
    `${addresses[0]}.br`,
    `${addresses[0]}/`,
    '/admin/assets/__proto__',
  ]) {
    const got = await getExactPath(kit.url, path)
    assert.match(got, /^HTTP\/1\.1 (404|303|401) /, path)
    assert.doesNotMatch(got, /"src\/main\.tsx"|root:|immutable/)
  }
  const unknown = await send(kit.url, { path: '/admin/assets/nothing.js', headers: html })
  assert.deepEqual([unknown.status, unknown.json.error], [404, 'not_found'], 'never a page')
}

async function getCompressedCopies(kit: Kit) {
  const { text } = await openBrowser(kit).get('/admin/login')
  const [address = ''] = addressesIn(text).filter((a) => a.endsWith('.css'))
  const plain = await bytesOf(kit, address)
  for (const [coding, open] of [
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ] as const) {
    const bytes = await new Promise<Buffer>((resolve, reject) => {
      const headers = { 'accept-encoding': coding }
      const asked = request(new URL(address, kit.url), { agent: false, headers }, async (response) =>
        resolve(Buffer.concat(await response.toArray())),
      )
      asked.on('error', reject).end()
    })
    assert.ok(bytes.length < plain.bytes.length / 2)
    assert.deepEqual(open(bytes), plain.bytes)
  }
}

/** Requests a long list as the console, which alone has `Sec-Fetch-Site: same-origin`, and as other callers. */
async function getLongList(kit: Kit) {
  const browser = await signedIn(kit)
  const cookie = Array.from(browser.cookies, (pair) => pair.join('=')).join('; ')
  for (let n = 0; n < 40; n++) await makeUser(kit, `somebody-${n}`)
  const codingOf = async (headers: Record<string, string>, path = '/v1/admin/users?limit=40') => {
    const asked = request(new URL(path, kit.url), { agent: false, headers: { cookie, ...headers } })
    const { promise, resolve, reject } = Promise.withResolvers<[string | undefined, string | undefined, string]>()
    asked.on('response', async (response) => {
      const bytes = Buffer.concat(await response.toArray())
      const coding = response.headers['content-encoding']
      const items = JSON.parse((coding === 'gzip' ? gunzipSync(bytes) : bytes).toString()).items
      resolve([coding, response.headers.vary, items?.at(-1)?.username])
    })
    asked.on('error', reject).end()
    return promise
  }
  const accepts = { 'accept-encoding': 'gzip, deflate, br' }
  const own = { 'sec-fetch-site': 'same-origin' }
  const [, , last] = await codingOf({})
  assert.match(last ?? '', /^somebody-/)
  assert.deepEqual(await codingOf({ ...accepts, ...own }), ['gzip', 'accept-encoding', last])
  assert.deepEqual(await codingOf(own), [undefined, 'accept-encoding', last])
  for (const other of [{}, { 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }])
    assert.deepEqual(await codingOf({ ...accepts, ...other }), [undefined, undefined, last])
  const [short] = await codingOf({ ...accepts, ...own }, '/v1/admin/users?limit=1')
  assert.equal(short, undefined)
}

/** The paths below /admin with a GET route. */
function pagesOf(kit: Kit): string[] {
  const above: string[] = []
  return kit.app.http
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', part = '', methods = ''] = /^([ │├└─]*)(\S+)(?: \(([^)]*)\))?/.exec(line) ?? []
      above.splice(indent.length / 4 - 1)
      above.push(part)
      const path = above.join('')
      return methods.includes('GET') && path.startsWith('/admin') ? [path] : []
    })
}

/** Requests every page of the router, signed out and signed in. */
async function getAllPages(kit: Kit) {
  const inside = await signedIn(kit)
  const known = pagesOf(kit).filter((path) => !path.includes('*'))
  for (const path of ['/admin', '/admin/login', '/admin/password', '/admin/second-factor', '/admin/signed-out'])
    assert.ok(known.includes(path), `${path} in ${known}`)
  for (const path of [...known, '/admin/nothing', '/nothing', '/'])
    for (const cookie of [undefined, Array.from(inside.cookies, (pair) => pair.join('=')).join('; ')]) {
      const address = path.replaceAll(/:\w+/g, 'x_1')
      const got = await send(kit.url, { path: address, headers: { ...html, ...(cookie && { cookie }) } })
      if (got.status === 303) continue
      if (got.headers['content-type']?.startsWith('application/json')) assert.fail(`${path}: ${got.text}`)
      assertStrictPage(got, address)
    }
}

async function signOutByFetch(kit: Kit) {
  const browser = await signedIn(kit)
  const headers = { 'sec-fetch-site': 'same-origin', accept: 'application/json' }
  const left = await browser.request({ method: 'POST', path: '/admin/logout', headers })
  assert.deepEqual([left.status, left.json], [200, { changed: true, end_session_url: null }])
  assert.equal((await browser.get('/admin')).status, 303)
}

test('the pages and files of the web console', async (t) => {
  const kit = await startKit(t)
  await t.test('each view gets the page of the console; a browser without a session gets the sign-in', () =>
    getEachView(kit),
  )
  await t.test('a display name cannot end the data block of the page', () => escapeDataBlock(kit))
  await t.test('every page has the theme and density of the cookies, and ignores other values', () => applyLooks(kit))
  await t.test('files have their type, strict headers and a tag for each coding, and no others are served', () =>
    getFiles(kit),
  )
  await t.test('compressed copies hold the bytes of the file', () => getCompressedCopies(kit))
  await t.test('a long list is compressed for the console, and for no other caller', () => getLongList(kit))
  await t.test('every page of the router is strict, signed out and signed in', () => getAllPages(kit))
  await t.test('a script can sign out by fetch', () => signOutByFetch(kit))
})

test('the requested address is opened after a forced change of password and second factor', async (t: TestContext) => {
  const clock = createClock(untilNextStep())
  const kit = await startKit(t, { now: clock.now })
  const user_id = await makeUser(kit, 'ana', ['auditor'])
  await changeSecuritySettings(kit.admin, { mfa: { required_roles: ['auditor'] } })
  const { secret } = await kit.admin.changePassword({ body: { user_id, generate: true } })
  const address = '/admin/devices?status=active&q=a%20b'
  const next = new URLSearchParams({ next: address })
  const browser = openBrowser(kit)
  const led = await browser.get(address)
  const entered = await browser.submit(await browser.follow(led), { username: 'ana', password: String(secret) })
  assert.equal(entered.headers.location, address)
  const redirected = await browser.get(address)
  assert.equal(redirected.headers.location, `/admin/password?${next}`)
  const typed = { current_password: String(secret), new_password: 'seven crabs walk', again: 'seven' }
  const wrong = await browser.submit(await browser.follow(redirected), typed)
  assert.equal(wrong.status, 422)
  const set = await browser.submit(wrong, { ...typed, again: typed.new_password })
  assert.deepEqual([set.status, set.headers.location], [303, address])
  const factor = await browser.get(address)
  assert.equal(factor.headers.location, `/admin/second-factor?${next}`)
  assert.equal((await browser.get(`/admin/password?${next}`)).headers.location, factor.headers.location)
  const scan = await browser.submit(await browser.follow(factor), { current_password: typed.new_password })
  const uri = /name="shown" value="([^"]+)"/.exec(scan.text)?.[1]?.replaceAll('&amp;', '&') ?? ''
  const app = createAuthenticator(new URL(uri).searchParams.get('secret') ?? '', clock.now)
  const missed = await browser.submit(scan, { code: app.wrong() })
  const done = await browser.submit(missed, { code: app.code() })
  assert.ok(done.text.includes(`<a class="choice" href="${address.replaceAll('&', '&amp;')}">`), done.text)
  assert.equal((await browser.get(address)).status, 200)
  const foreign = await browser.get('/admin/second-factor?next=//evil.example')
  assert.doesNotMatch(foreign.text, /evil/)
})

test('without the built console and documentation their first pages say so', async (t) => {
  const kit = await startKit(t, { hasConsole: false })
  const browser = await signedIn(kit)
  const page = await browser.get('/admin')
  assert.equal(titleOf(page.text), 'Signed in')
  assert.match(page.text, /The web console was not built on this server/)
  assert.equal((await browser.request({ path: '/admin/devices', headers: html })).status, 404)
  const documentation = await browser.get('/admin/docs/')
  assert.equal(documentation.status, 404)
  assert.match(documentation.text, /This server runs without its documentation/)
  assert.equal((await browser.submit(page)).headers.location, '/admin/signed-out')
})

test('the server version is that of its package', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  assert.equal(productVersion, version)
})

test('the sign-in pages use the design values', () => {
  const valuesIn = (css: string) => {
    const found = css.replaceAll(/\/\*[\s\S]*?\*\//g, '').matchAll(/(--[\w-]+):([^;}]+)[;}]/g)
    const plain = (value: string) =>
      value
        .replaceAll(/\s+/g, ' ')
        .replaceAll(/\s*,\s*/g, ',')
        .replaceAll(/\(\s+|\s+\)/g, (m) => m.trim())
        .trim()
    return Array.from(found, ([, name = '', value = '']) => `${name}: ${plain(value)}`)
  }
  const design = new Set(valuesIn(readFileSync(join(root, 'packages/console/src/styles/tokens.css'), 'utf8')))
  const style = readFileSync(join(root, 'packages/server/src/modules/identity/signin/page-style.ts'), 'utf8')
  const used = valuesIn(style)
  assert.ok(used.length > 50)
  assert.deepEqual(
    used.filter((line) => !design.has(line)),
    [],
  )
})
