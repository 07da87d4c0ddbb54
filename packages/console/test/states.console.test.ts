import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { features } from '../src/features.ts'
import { type Path, paths } from '../src/paths.ts'
import { type Ground, inBrowser, openGround } from './ground.ts'
import { openPage, settle } from './page.ts'
import { traits } from './views.ts'
import { pathOf } from './walk.ts'

const requestId = 'req_01kb0000000000000000000000'
/** What the server answers where a state cannot be brought about, in the words of the specification. */
const refusals = {
  409: { error: 'entitlement_exceeded', detail: 'the plan allows 70 devices, and 70 are enrolled' },
  422: { error: 'validation_error', detail: 'the filter is not understood' },
  429: { error: 'rate_limited', detail: 'too many requests' },
  500: { error: 'internal_error', detail: 'the request could not be handled' },
} as const
const shows: Readonly<Record<keyof typeof refusals, RegExp>> = {
  409: /The plan allows 70 devices, and 70 are enrolled\.[\s\S]*License & usage/,
  422: /The filter is not understood\./,
  429: /Slow down: the server takes the next request in 1 s\.|Slow down/,
  500: /The server could not answer for .+\.[\s\S]*The request could not be handled\.[\s\S]*Request/,
}
/** Pages of the frame, which have words of their own for failures, are not asked. */
const isOfFrame = /\/v1\/admin\/(me|stream|notifications|tenants|views)\b/
const isOwn = /5\d\d for |status of 5|net::ERR|Failed to fetch/

const mainOf = (page: Page) => page.locator('main')
/** Holds of every state: a heading, words, and nothing that goes on loading. */
async function assertNotBlank(page: Page): Promise<string> {
  assert.equal(await page.locator('h1').count(), 1, 'one h1')
  const text = await mainOf(page).innerText()
  const heading = await page.locator('h1').innerText()
  assert.ok(text.replace(heading, '').trim().length > 20, `the page says nothing but: ${text}`)
  assert.equal(await page.getByRole('navigation', { name: 'Main' }).count(), 1, 'the frame stays')
  return text
}
/** Goes to a view without loading the page again. */
const goTo = (page: Page, path: string) =>
  page.evaluate((to) => {
    history.pushState({}, '', to)
    dispatchEvent(new PopStateEvent('popstate'))
  }, path)

const sentinel = (status: keyof typeof refusals) => (route: Route) =>
  isOfFrame.test(route.request().url())
    ? route.fallback()
    : route.fulfill({
        status,
        headers: { 'x-request-id': requestId, ...(status === 429 && { 'retry-after': '1' }) },
        json: { ...refusals[status], request_id: requestId },
      })

type Visit = { t: TestContext; ground: Ground; path: Path; address: string }

/** Each refusal is said in its words; after it, the page comes back by its button or by itself. */
async function refused({ t, ground, address }: Visit): Promise<void> {
  const page = await openPage(t, ground, { as: 'admin', expected: isOwn })
  await page.goto(address)
  await settle(page)
  for (const status of [409, 422, 429, 500] as const) {
    await page.route('**/v1/admin/**', sentinel(status))
    await page.reload()
    await mainOf(page)
      .getByText(shows[status].source.split(/[|[\\(.]/)[0] ?? '')
      .first()
      .waitFor()
    await settle(page)
    assert.match(await assertNotBlank(page), shows[status], `${status}`)
    await page.unroute('**/v1/admin/**')
    if (status === 500) {
      assert.ok(
        (await page.getByRole('button', { name: `Copy ${requestId}` }).count()) > 0,
        'the request id is there to copy',
      )
      const failures = await page.getByRole('button', { name: 'Retry now' }).count()
      await page.getByRole('button', { name: 'Retry now' }).first().click()
      await settle(page)
      assert.ok((await page.getByRole('button', { name: 'Retry now' }).count()) < failures, 'Retry brings it back')
    }
    if (status === 429)
      await mainOf(page)
        .getByText(/^Slow down/)
        .first()
        .waitFor({ state: 'detached' })
  }
}

/** For three seconds there is a skeleton under the heading; then the view. */
async function slow({ t, ground, address }: Visit): Promise<void> {
  const page = await openPage(t, ground, { as: 'admin' })
  const waits: Promise<void>[] = []
  await page.route('**/v1/admin/**', async (route) => {
    if (isOfFrame.test(route.request().url())) return route.fallback()
    const wait = new Promise<void>((resolve) => setTimeout(resolve, 3_000))
    waits.push(wait)
    await wait
    await route.fallback().catch(() => {})
  })
  await page.goto(address)
  await page.locator('h1').waitFor()
  await page.waitForTimeout(500)
  if (waits.length > 0)
    assert.ok(
      (await page.locator('main :is(.skel, [aria-busy="true"]), main[aria-busy="true"]').count()) > 0,
      'a skeleton',
    )
  await settle(page)
  await assertNotBlank(page)
  assert.equal(await page.locator('main .skel').count(), 0, 'no skeleton is left')
}

/** What was there stays, a bar says that it is old, and all is read again when the server is back. */
async function offline({ t, ground, address }: Visit): Promise<void> {
  const page = await openPage(t, ground, { as: 'admin', expected: isOwn })
  await page.goto(address)
  await settle(page)
  const before = await assertNotBlank(page)
  await page.context().setOffline(true)
  const bar = page.getByText('The server does not answer.')
  await bar.waitFor()
  assert.ok((await mainOf(page).innerText()).length >= before.length, 'what was there stays')
  await page.context().setOffline(false)
  await bar.waitFor({ state: 'detached' })
  await settle(page)
  await assertNotBlank(page)
}

/** Nobody is signed in any more: the sign-in, which comes back here. */
async function signedOut({ t, ground, address }: Visit): Promise<void> {
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto('/admin/me')
  await settle(page)
  await page.context().clearCookies()
  if (address === '/admin/me') await page.reload()
  else await goTo(page, address)
  await page.waitForURL((url) => url.pathname === '/admin/login')
  assert.equal(new URL(page.url()).searchParams.get('next'), address)
}

/** Support staff sees devices: elsewhere the frame stays, and the page names the permission. */
async function forbidden({ t, ground, path, address }: Visit): Promise<void> {
  const page = await openPage(t, ground, { as: 'helpdesk' })
  await page.goto(address)
  await settle(page)
  const text = await assertNotBlank(page)
  const feature = features.find((f) => f.path === path || f.below?.some((below) => below.path === path))
  const mine = await page.evaluate(
    async () => ((await (await fetch('/v1/admin/me')).json()) as { permissions: string[] }).permissions,
  )
  if (!feature?.permission || mine.includes(feature.permission) || path === '/admin') return
  assert.match(text, new RegExp(`You cannot see [\\s\\S]*${feature.permission}`))
}

/** A tenant in which there is nothing yet: words on how the first object comes to be. */
async function firstRun({ t, ground, path, address }: Visit): Promise<void> {
  const page = await openPage(t, ground, { as: 'newcomer' })
  await page.goto(address)
  await settle(page)
  const text = await assertNotBlank(page)
  if (path.includes('$')) return assert.match(text, /is not here[\s\S]*It was deleted, or belongs to another tenant\./)
  assert.equal(await mainOf(page).getByRole('alert').count(), 0, text)
  const { list } = traits[path]
  if (list === undefined) return
  assert.match(text, /No .+ yet/)
  await page.goto(`${address}?q=nothing-is-called-so`)
  await settle(page)
  assert.match(await assertNotBlank(page), new RegExp(`No ${list} match`))
  await page
    .getByRole('button', { name: /^Clear / })
    .first()
    .click()
  await page
    .getByText(/No .+ yet/)
    .first()
    .waitFor()
}

const states = { refused, slow, offline, signedOut, forbidden, firstRun }
for (const path of paths)
  for (const [state, holds] of Object.entries(states))
    test(`${path}: ${state}`, inBrowser, async (t) => {
      const ground = await openGround()
      await holds({ t, ground, path, address: pathOf(path, ground.ids) })
    })
