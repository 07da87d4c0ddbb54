import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { axeFindings } from './axe.ts'
import { inBrowser, openGround } from './ground.ts'
import { openPage } from './page.ts'

const folder = process.env.HOLDFAST_TEST_SCREENSHOTS
/** Keeps a picture of the page for a reviewer, if a folder is named. */
const keepPicture = async (page: Page, name: string) =>
  folder && (await page.screenshot({ path: join(folder, `docs-${name}.png`) }))

const isWide = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
const results = (page: Page) => page.getByRole('listbox', { name: 'Search results' }).getByRole('option')

test('a reader searches and follows a result by keyboard', inBrowser, async (t) => {
  const page = await openPage(t, await openGround(), { as: 'viewer' })
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await page.goto('/admin/docs/')
  await page.waitForLoadState('load')
  assert.ok(!asked.some((path) => path.includes('search-index')), 'the index is loaded when the search is first used')
  await page.keyboard.press('/')
  const field = page.getByRole('combobox', { name: 'Search the documentation' })
  assert.ok(await field.evaluate((element) => element === document.activeElement))
  await page.keyboard.type('dead letter')
  await results(page).first().waitFor()
  assert.ok(asked.some((path) => path.includes('search-index')))
  const chosen = () =>
    page.evaluate(
      () => document.getElementById(document.activeElement?.getAttribute('aria-activedescendant') ?? '')?.id,
    )
  assert.equal(await chosen(), 'found-0')
  await page.keyboard.press('ArrowDown')
  assert.equal(await chosen(), 'found-1')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('ArrowUp')
  assert.equal(await chosen(), `found-${(await results(page).count()) - 1}`, 'the list is a circle')
  await page.keyboard.press('ArrowDown')
  await keepPicture(page, 'search')
  const to = new URL((await results(page).first().getAttribute('href'))!)
  await page.keyboard.press('Enter')
  await page.waitForURL(to.href)
  assert.match(to.pathname, /^\/admin\/docs\/siem(?:-delivery)?\.html$/)
  assert.match((await page.locator(':target').textContent())!, /dead letter/i)
})

test('the list of results closes, and says when there is none', inBrowser, async (t) => {
  const page = await openPage(t, await openGround(), { as: 'viewer' })
  await page.goto('/admin/docs/audit.html')
  const field = page.getByRole('combobox')
  await field.fill('sequence')
  await results(page).first().waitFor()
  await page.keyboard.press('Escape')
  await results(page).first().waitFor({ state: 'hidden' })
  assert.equal(await field.getAttribute('aria-expanded'), 'false')
  await field.fill('zzzqqqxxx')
  await page.getByText('No page has these words.').waitFor()
  await field.fill('sequence')
  await results(page).first().click()
  await results(page).first().waitFor({ state: 'hidden' })
})

for (const colorScheme of ['light', 'dark'] as const)
  for (const width of [1440, 375] as const)
    test(`pages are accessible: ${colorScheme}, ${width} pixels wide`, inBrowser, async (t) => {
      const page = await openPage(t, await openGround(), { as: 'viewer', colorScheme, width })
      for (const path of ['', 'configuration.html', 'agents.html', 'decisions/index.html', 'nothing.html']) {
        await page.goto(`/admin/docs/${path}`)
        assert.deepEqual(await axeFindings(page), [], path)
        assert.equal(await isWide(page), false, `${path} is wider than the window`)
        await keepPicture(page, `${path.replaceAll(/\W/g, '-')}-${colorScheme}-${width}`)
      }
      await page.getByRole('combobox').fill('token')
      await results(page).first().waitFor()
      assert.deepEqual(await axeFindings(page), [], 'search')
      if (width === 1440) return
      await page.goto('/admin/docs/audit.html')
      await page.getByRole('button', { name: 'Open the list of pages' }).click()
      await page.getByRole('link', { name: 'Audit log', exact: true }).waitFor()
      assert.deepEqual(await axeFindings(page), [], 'list of pages')
      await keepPicture(page, `menu-${colorScheme}`)
    })

test('without scripts everything but the search works', inBrowser, async (t) => {
  const options = { javaScriptEnabled: false }
  const page = await openPage(t, await openGround(), { as: 'viewer', width: 375, options })
  await page.goto('/admin/docs/siem.html')
  assert.equal(await page.locator('form.search').isVisible(), false)
  await page.getByRole('button', { name: 'Open the list of pages' }).click()
  await page.getByRole('link', { name: 'Metrics', exact: true }).click()
  await page.waitForURL('**/admin/docs/metrics.html')
})

test('the skip link leads to the content', inBrowser, async (t) => {
  const page = await openPage(t, await openGround(), { as: 'viewer' })
  await page.goto('/admin/docs/siem.html')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'main')
})

test('the console leads to the documentation, and back', inBrowser, async (t) => {
  const page = await openPage(t, await openGround(), { as: 'viewer' })
  await page.goto('/admin/devices')
  await page.locator('.searchbtn').focus()
  await page.keyboard.press('?')
  await page.getByRole('dialog').getByRole('link', { name: 'Documentation' }).click()
  await page.waitForURL('**/admin/docs/')
  await page.getByRole('link', { name: 'Console', exact: true }).click()
  await page.waitForURL('**/admin')
  await page.locator('.searchbtn').focus()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').waitFor()
  await page.keyboard.type('>manual')
  await page.getByRole('option', { name: 'Documentation' }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL('**/admin/docs/')
})
