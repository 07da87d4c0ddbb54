import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, type TestContext, test } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { encodeId } from '../../server/src/kernel/ids.ts'
import { permissionAt } from '../src/features.ts'
import { type Path, paths } from '../src/paths.ts'
import { type Ground, inBrowser, openGround } from './ground.ts'
import { openPage, settle } from './page.ts'
import { addressOf, traits } from './views.ts'
import { pathOf } from './walk.ts'

const requestId = 'req_01kb0000000000000000000000'
/**
 * Refusals that the test cannot cause on the server: response bodies from the specification, and the expected texts.
 */
const refusals = {
  409: {
    body: { error: 'entitlement_exceeded', detail: 'the plan allows 70 devices, and 70 are enrolled' },
    title: 'The plan allows 70 devices, and 70 are enrolled.',
    rest: /Nothing was changed\./,
  },
  422: {
    body: { error: 'validation_error', detail: 'the filter is not understood' },
    title: 'The filter is not understood.',
    rest: /./,
  },
  429: {
    body: { error: 'rate_limited', detail: 'too many requests' },
    title: 'Too many requests. The server takes the next one in 1 s.',
    rest: /The page tries again automatically\./,
  },
  500: {
    body: { error: 'internal_error', detail: 'the request could not be handled' },
    title: /^The server could not answer for .+\./,
    rest: /The request could not be handled\.[\s\S]*Request/,
  },
} as const
type Status = keyof typeof refusals
const statuses = [409, 422, 429, 500] as const satisfies readonly Status[]

/**
 * True for requests of the frame, which has its own texts for failures: they are not refused. All requests of alerts
 * are the frame's, except those of a list.
 */
const isOfFrame = (url: string) =>
  /\/v1\/admin\/(me|stream|tenants|views)\b/.test(url) ||
  (/\/v1\/admin\/notifications\b/.test(url) && !/sort=/.test(url))
const isOwn = /5\d\d for |status of 5|net::ERR|Failed to fetch/

const mainOf = (page: Page) => page.locator('main')
/** Asserts rules for every state: a heading, text, and no endless loading. */
async function assertNotBlank(page: Page): Promise<string> {
  assert.equal(await page.locator('h1').count(), 1, 'one h1')
  const text = await mainOf(page).innerText()
  const heading = await page.locator('h1').innerText()
  assert.ok(text.replace(heading, '').trim().length > 20, `the page says nothing but: ${text}`)
  assert.equal(await page.getByRole('navigation', { name: 'Main' }).count(), 1, 'the frame stays')
  return text
}
/** Opens a view without reloading the page. */
const goTo = (page: Page, path: string) =>
  page.evaluate((to) => {
    history.pushState({}, '', to)
    dispatchEvent(new PopStateEvent('popstate'))
  }, path)

const refusing = (status: Status) => (route: Route) =>
  isOfFrame(route.request().url())
    ? route.fallback()
    : route.fulfill({
        status,
        headers: { 'x-request-id': requestId, ...(status === 429 && { 'retry-after': '1' }) },
        json: { ...refusals[status].body, request_id: requestId },
      })

type Visit = { t: TestContext; ground: Ground; path: Path; address: string }

/** Asserts that each refusal has its text, and that the page recovers by its button or by itself. */
async function refused({ t, ground, address }: Visit): Promise<void> {
  const page = await openPage(t, ground, { as: 'admin', expected: isOwn })
  for (const status of statuses) {
    const { title, rest } = refusals[status]
    await page.route('**/v1/admin/**', refusing(status))
    await page.goto(address)
    const titles = mainOf(page).getByText(title)
    await titles.first().waitFor()
    const text = await assertNotBlank(page)
    // The page retries each second, and shows the skeleton meanwhile.
    if (status === 429) await mainOf(page).getByText(rest).first().waitFor()
    else assert.match(text, rest, `${status}`)
    const copies = await page.getByRole('button', { name: `Copy ${requestId}` }).count()
    assert.equal(copies > 0, status === 500, 'the request id of a failure is there to copy')
    await page.unroute('**/v1/admin/**')
    if (status === 429) for (const one of await titles.all()) await one.waitFor({ state: 'detached' })
    if (status === 500) await retryAll(page)
  }
}

/** Presses the retry button of each failure. Each one restores its part of the page. */
async function retryAll(page: Page): Promise<void> {
  const buttons = mainOf(page).getByRole('button', { name: 'Retry now' })
  await settle(page)
  // A sheet makes the list behind it inert while it is open.
  if (await page.getByRole('dialog').count()) await page.keyboard.press('Escape')
  for (let left = await buttons.count(); left > 0; ) {
    await buttons.first().click()
    await settle(page)
    const after = await buttons.count()
    assert.ok(after < left, 'Retry brings it back')
    left = after
  }
}

/** Asserts that pending responses show a skeleton under the heading, and that the view follows. */
async function slow({ t, ground, address }: Visit): Promise<void> {
  const page = await openPage(t, ground, { as: 'admin' })
  const { promise: answers, resolve: answer } = Promise.withResolvers<void>()
  let waiting = 0
  await page.route('**/v1/admin/**', async (route) => {
    if (!isOfFrame(route.request().url())) {
      waiting++
      await answers
    }
    await route.fallback().catch(() => {})
  })
  await page.goto(address)
  const skeleton = mainOf(page).locator('.skel').filter({ visible: true }).first()
  await Promise.race([skeleton.waitFor(), settle(page)])
  assert.equal((await skeleton.count()) > 0, waiting > 0, `${waiting} requests wait, and so a skeleton is there`)
  assert.equal(await page.locator('h1').count(), 1, 'the heading is there at once')
  answer()
  await settle(page)
  await assertNotBlank(page)
  assert.equal(await page.locator('main .skel').count(), 0, 'no skeleton is left')
}

/** Asserts that the data stays, that a bar marks it as old, and that all data is read again after the reconnect. */
async function offline({ t, ground, address }: Visit): Promise<void> {
  const page = await openPage(t, ground, { as: 'admin', expected: isOwn })
  await page.goto(address)
  await settle(page)
  const before = await assertNotBlank(page)
  await page.context().setOffline(true)
  const bar = mainOf(page).getByText('The server does not answer. This page shows the state')
  await bar.waitFor()
  assert.ok((await mainOf(page).innerText()).length >= before.length, 'the text stays')
  await page.context().setOffline(false)
  await bar.waitFor({ state: 'detached' })
  await settle(page)
  await assertNotBlank(page)
}

/** Asserts that a page without a valid session leads to the sign-in, which returns to the page. */
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

/** Asserts that a page without permission keeps the frame and names the permission. Support staff may read devices. */
async function forbidden({ t, ground, path, address }: Visit): Promise<void> {
  const page = await openPage(t, ground, { as: 'helpdesk' })
  await page.goto(address)
  await settle(page)
  const text = await assertNotBlank(page)
  const permission = permissionAt(path)
  const mine = await page.evaluate(
    async () => ((await (await fetch('/v1/admin/me')).json()) as { permissions: string[] }).permissions,
  )
  // Home leads to the first view that the caller may see.
  if (permission && !mine.includes(permission) && path !== '/admin')
    assert.match(text, new RegExp(`You cannot see [\\s\\S]*${permission}`))
  else assert.doesNotMatch(text, /You cannot see/)
}

/** Asserts that an empty tenant shows how to create the first object. */
async function firstRun({ t, ground, path, address }: Visit): Promise<void> {
  const page = await openPage(t, ground, { as: 'newcomer' })
  await page.goto(address)
  await settle(page)
  const text = await assertNotBlank(page)
  if (addressOf(path).includes('$'))
    return assert.match(text, /was not found[\s\S]*It was deleted, or belongs to another tenant\./)
  assert.equal(await mainOf(page).getByRole('alert').count(), 0, text)
  const { list, noun, filter = 'q=nothing-is-called-so', quiet = /No .+ yet/ } = traits[path]
  if (list === undefined || noun === undefined) return
  assert.match(text, quiet)
  await page.goto(`${address}?${filter}`)
  await settle(page)
  assert.match(await assertNotBlank(page), new RegExp(`No ${list} match`))
  await page
    .getByRole('button', { name: /^Clear / })
    .first()
    .click()
  await page.getByText(quiet).first().waitFor()
  await page.goto(`${address}?open=${encodeId(noun, randomUUID())}`)
  await settle(page)
  assert.match(
    await page.getByRole('complementary').last().innerText(),
    /was not found|is not among/,
    'the panel of a missing object',
  )
}

const states = { refused, slow, offline, signedOut, forbidden, firstRun }
/** Pages spend much time waiting, so several run at once. */
suite('each view in each state', { concurrency: 3 }, () => {
  for (const path of paths)
    for (const [state, holds] of Object.entries(states))
      test(`${path}: ${state}`, inBrowser, async (t) => {
        const ground = await openGround()
        await holds({ t, ground, path, address: pathOf(addressOf(path), ground.ids) })
      })
})
