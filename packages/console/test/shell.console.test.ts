import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inbox, raiseNotice } from '../../server/test/support/domain/notifications.ts'
import { inBrowser, openGround } from './ground.ts'
import { fillSignIn, openPage, settle } from './page.ts'
import { consoleViews } from './views.ts'
import { pathOf } from './walk.ts'

const signIn = async (page: Awaited<ReturnType<typeof openPage>>, who: { username: string; password: string }) => {
  await fillSignIn(page, who)
  await page.keyboard.press('Enter')
  await page.waitForURL((url) => !url.pathname.startsWith('/admin/login'))
}

test('the palette finds a device by keyboard, copies a command, and asks before an action', inBrowser, async (t) => {
  const page = await openPage(t, await openGround(), { as: 'admin' })
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.goto('/admin')
  await page.locator('.searchbtn').focus()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').waitFor()
  await page.keyboard.type('thinkpad-03')
  const lost = page.getByRole('option', { name: 'Lost device: thinkpad-03' })
  await lost.waitFor()
  assert.equal(await lost.getAttribute('aria-selected'), 'true', 'the deed on the best hit is chosen')
  await page.keyboard.press('Control+c')
  await page.getByText('Command copied').waitFor()
  assert.match(
    await page.evaluate(() => navigator.clipboard.readText()),
    /^holdfast incident run lost_device device_id=dev_\w{26}$/,
  )
  await page.keyboard.press('Enter')
  await page
    .getByRole('dialog')
    .getByRole('heading', { level: 2, name: /thinkpad-03/ })
    .waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.equal(await page.evaluate(() => document.activeElement?.className), 'searchbtn', 'the focus is back')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').waitFor()
  await page.keyboard.type('>theme dark')
  await page.keyboard.press('Enter')
  assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark')
})

test('an alert appears within 2 s of being raised, and a key acknowledges it', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto('/admin')
  await settle(page)
  const title = 'The clock of iad-1 is wrong'
  await raiseNotice(ground.kit, { title, kind: 'clock.untrusted' })
  await page.getByRole('link', { name: title }).waitFor({ timeout: 2_000 })
  await page.keyboard.press('g')
  await page.keyboard.press('l')
  await page.waitForURL('**/admin/alerts')
  await page.getByRole('link', { name: title }).focus()
  await page.keyboard.press('Enter')
  const panel = page.getByRole('complementary', { name: `Alert ${title}` })
  await panel.getByText('keep it correct with NTP').waitFor()
  await page.keyboard.press('a')
  await panel.getByText('Acknowledged').first().waitFor()
  await page.keyboard.press('Escape')
  await page.locator('tr', { hasText: title }).waitFor({ state: 'detached' })
  const acknowledged = await inbox(ground.kit, { state: 'acknowledged' })
  assert.equal(acknowledged.find((alert) => alert.title === title)?.acknowledged_by?.name, 'admin')
})

test('without the stream an alert appears within 12 s', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openPage(t, ground, { as: 'admin', expected: /ERR_FAILED/ })
  await page.clock.install()
  let streams = 0
  await page.route('**/v1/admin/stream*', (route) => {
    streams++
    return route.abort()
  })
  await page.goto('/admin')
  await settle(page)
  assert.ok(streams > 0, 'the page has tried to open it')
  const title = 'Raised while no stream was open'
  await raiseNotice(ground.kit, { title, kind: 'siem.parked' })
  await page.clock.runFor(12_000)
  await page.getByRole('link', { name: title }).waitFor({ timeout: 2_000 })
})

test('the first paint has the chosen theme', inBrowser, async (t) => {
  const ground = await openGround()
  for (const [colorScheme, theme] of [
    ['light', 'dark'],
    ['dark', 'light'],
  ] as const) {
    const page = await openPage(t, ground, { as: 'viewer', colorScheme })
    const cookie = { name: 'holdfast_theme', value: theme, domain: 'holdfast.localhost', path: '/admin' }
    await page.context().addCookies([cookie])
    await page.addInitScript(() => {
      new PerformanceObserver(() => {
        ;(window as { first?: string }).first ??= getComputedStyle(document.documentElement).backgroundColor
      }).observe({ type: 'paint', buffered: true })
    })
    await page.goto('/admin')
    await settle(page)
    const { first, settled, scheme } = await page.evaluate(() => {
      const style = getComputedStyle(document.documentElement)
      const { first } = window as { first?: string }
      return { first, settled: style.backgroundColor, scheme: style.colorScheme }
    })
    assert.equal(first, settled)
    assert.equal(scheme, theme)
  }
})

test('a hidden page sends no request, and reloads what it missed when it is shown again', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openPage(t, ground, { as: 'admin' })
  await page.clock.install()
  const show = (isHidden: boolean) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
      Object.defineProperty(document, 'visibilityState', { value: hidden ? 'hidden' : 'visible', configurable: true })
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
    }, isHidden)
  const sent: string[] = []
  let isHidden = false
  page.on('request', (request) => isHidden && sent.push(request.url()))
  const title = 'Raised while nobody looked'
  for (const { path } of consoleViews.toReversed()) {
    // The server's clock stays: without this the session would seem to end after some views.
    await page.clock.setSystemTime(Date.now())
    await page.goto(pathOf(path, ground.ids))
    await settle(page)
    await show(true)
    // A request that was sent just before is over.
    await settle(page)
    isHidden = true
    if (path === '/admin') await raiseNotice(ground.kit, { title, kind: 'siem.failing' })
    await page.clock.runFor(120_000)
    assert.deepEqual(sent, [], path)
    isHidden = false
  }
  await show(false)
  await page.getByRole('link', { name: title }).waitFor()
})

test('a changed list says so within 2 s, keeps its rows, and reloads with a key', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto('/admin/devices?q=pixel-1&sort=name')
  await settle(page)
  const rows = page.locator('[data-row-link]')
  const before = await rows.allInnerTexts()
  const device_id = (await page.locator('tr[data-id]').first().getAttribute('data-id')) ?? ''
  await ground.kit.admin.changeDevice({ body: { operation: 'update', device_id, device: { name: 'pixel-1-renamed' } } })
  await page.getByText(/^1 change since/).waitFor({ timeout: 2_000 })
  assert.deepEqual(await rows.allInnerTexts(), before, 'nothing moves by itself')
  await page.keyboard.press('R')
  await page.getByRole('link', { name: 'pixel-1-renamed' }).waitFor()
})

test('the page asks before a session ends, and leads to the sign-in and back at its end', inBrowser, async (t) => {
  const ground = await openGround()
  const newcomer = ground.signInOf('newcomer')
  const page = await openPage(t, ground)
  await page.goto('/admin/login')
  await signIn(page, newcomer)
  const { sessions } = await page.evaluate(async () => await (await fetch('/v1/admin/settings/security')).json())
  assert.equal(typeof sessions.idle_seconds, 'number')
  await page.clock.install()
  await page.goto('/admin/devices')
  await settle(page)
  // Only the clock of the page moves to the last minutes; the server's clock stays.
  await page.clock.fastForward((sessions.idle_seconds - 100) * 1000)
  const dialog = page.getByRole('dialog', { name: /You are signed out in 1:\d\d/ })
  await dialog.waitFor()
  const prolongs = page.waitForRequest((request) => request.url().endsWith('/v1/admin/me'))
  await dialog.getByRole('button', { name: 'Stay signed in' }).click()
  assert.equal((await prolongs).headers()['holdfast-background'], undefined, 'a request of a person prolongs')
  await page.context().clearCookies()
  await page.clock.fastForward(100_000)
  await page.waitForURL('**/admin/login?next=%2Fadmin%2Fdevices')
  await signIn(page, newcomer)
  assert.equal(new URL(page.url()).pathname, '/admin/devices')
})

test(
  'without a connection the rows stay, changes are disabled, and everything is reloaded afterwards',
  inBrowser,
  async (t) => {
    const expected = /ERR_INTERNET_DISCONNECTED|could not be loaded/
    const page = await openPage(t, await openGround(), { as: 'admin', expected })
    await page.goto('/admin/alerts')
    await settle(page)
    const rows = await page.locator('tbody tr').count()
    await page.context().setOffline(true)
    const bar = page.getByText('The server does not answer. This page shows the state')
    await bar.waitFor()
    assert.equal(await page.locator('tbody tr').count(), rows)
    await page.locator('tbody a').first().focus()
    await page.keyboard.press('x')
    const button = page.getByRole('toolbar').getByRole('button', { name: 'Acknowledge' })
    assert.equal(await button.getAttribute('aria-disabled'), 'true')
    await page.keyboard.press('?')
    await page.getByText('This could not be opened').waitFor()
    assert.equal(await page.locator('tbody tr').count(), rows, 'a failed load keeps the rows')
    const read = page.waitForRequest(/\/v1\/admin\/notifications\?/)
    await page.context().setOffline(false)
    await bar.waitFor({ state: 'detached' })
    await read
    await page.reload()
    await settle(page)
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  },
)

test('a platform administrator switches to another tenant, and each request names it', inBrowser, async (t) => {
  const page = await openPage(t, await openGround(), { as: 'admin' })
  await page.goto('/admin/devices?q=thinkpad')
  await page.getByRole('button', { name: /default, change tenant/ }).click()
  await page.getByRole('menuitem', { name: 'empty' }).click()
  await page.waitForURL(/\/admin\/devices\?tenant=tnt_\w+$/)
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  await page.getByRole('heading', { name: 'No devices yet' }).waitFor()
  await page.getByRole('button', { name: /empty, change tenant/ }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('h')
  await page.waitForURL(/\/admin\?tenant=tnt_\w+$/)
  await settle(page)
  const calls = asked.filter((url) => url.includes('/v1/') && !url.includes('/v1/admin/tenants'))
  assert.notEqual(calls.length, 0)
  assert.deepEqual(
    calls.filter((url) => !url.includes('tenant_id=tnt_')),
    [],
  )
  await page.goto('/admin?tenant=tnt_01jxz3c9dqf7vr2m8k4s6t0b5w')
  await page.getByRole('heading', { name: 'Tenant not found' }).waitFor()
})

test('each role starts at its own view, and keys open only views that it may see', inBrowser, async (t) => {
  const ground = await openGround()
  const helpdesk = await openPage(t, ground, { as: 'helpdesk' })
  await helpdesk.goto('/admin')
  await helpdesk.waitForURL('**/admin/devices')
  await helpdesk.getByRole('heading', { level: 1, name: 'Devices' }).waitFor()
  assert.equal(await helpdesk.getByRole('navigation', { name: 'Main' }).getByText('Overview').count(), 0)
  await helpdesk.keyboard.press('g')
  await helpdesk.keyboard.press('l')
  await helpdesk.keyboard.press('g')
  await helpdesk.keyboard.press('s')
  await helpdesk.waitForURL('**/admin/sessions')
  const viewer = await openPage(t, ground, { as: 'viewer' })
  await viewer.goto('/admin')
  await viewer.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
  await viewer.keyboard.press('g')
  await viewer.keyboard.press('d')
  await viewer.waitForURL('**/admin/devices')
})
