import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { inBrowser, openGround } from './ground.ts'
import { openPage, settle } from './page.ts'

/** Lists of the console, each with a filter and a sort that its API has. The others join as they are built. */
const lists = [
  { path: '/admin/devices', filter: 'platform=macos', sort: 'name' },
  { path: '/admin/devices', filter: 'q=pixel', sort: '-last_seen_at' },
] as const

/** Fewer rows than a page of service has, so that a small fleet has several pages. */
const rowsPerPage = 5

/** The server answers in small pages; everything else is as in service. */
const withSmallPages = (page: Page) =>
  page.route(/\/v1\/admin\/[a-z-]+\?.*limit=100/, (route) =>
    route.continue({ url: route.request().url().replace('limit=100', `limit=${rowsPerPage}`) }),
  )

const rowsOf = (page: Page) => page.locator('[data-row-link]').allInnerTexts()

for (const { path, filter, sort } of lists)
  test(`${path}: ${filter}, sort and cursor survive reload, back and a shared link`, inBrowser, async (t) => {
    const ground = await openGround()
    const page = await openPage(t, ground, { as: 'admin' })
    await withSmallPages(page)
    await page.goto(`${path}?${filter}&sort=${sort}`)
    await settle(page)
    const first = await rowsOf(page)
    assert.equal(first.length, rowsPerPage)
    await page.getByRole('button', { name: 'Next' }).click()
    await page.waitForURL(/cursor=/)
    await settle(page)
    const second = await rowsOf(page)
    assert.notDeepEqual(second, first)
    const address = page.url()
    assert.match(address, new RegExp(`${filter}.*sort=${sort}`))

    await page.reload()
    await settle(page)
    assert.deepEqual(await rowsOf(page), second, 'after a reload')
    await page.getByRole('button', { name: 'Previous' }).click()
    await settle(page)
    assert.deepEqual(await rowsOf(page), first, 'a reload keeps the way back to the first page')
    await page.goBack()
    await settle(page)
    assert.deepEqual(await rowsOf(page), second, 'after back')

    const other = await openPage(t, ground, { as: 'admin' })
    await withSmallPages(other)
    await other.goto(address)
    await settle(other)
    assert.deepEqual(await rowsOf(other), second, 'for somebody who got the link')

    await page.locator('[data-row-link]').nth(2).click()
    await page.waitForURL(/open=/)
    await settle(page)
    assert.deepEqual(await rowsOf(page), second, 'beside the open panel')
    await page.keyboard.press('Escape')
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), second[2], 'the row has the focus')
    assert.equal(page.url(), address)
  })
