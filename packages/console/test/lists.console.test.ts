import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { raiseNotice } from '../../server/test/support/domain/notifications.ts'
import { type Path, paths } from '../src/paths.ts'
import { inBrowser, openGround } from './ground.ts'
import { openPage, settle } from './page.ts'
import { traits } from './views.ts'

/** Lists of the console, each with a filter and a sort order of its API. */
const lists: readonly { path: Path; filter: string; sort: string }[] = [
  { path: '/admin/alerts', filter: 'severity=warning', sort: 'created_at' },
  { path: '/admin/devices', filter: 'platform=macos', sort: 'name' },
  { path: '/admin/devices', filter: 'q=pixel', sort: '-last_seen_at' },
  { path: '/admin/users', filter: 'status=active', sort: '-created_at' },
  { path: '/admin/groups', filter: 'q=team', sort: 'created_at' },
  { path: '/admin/sessions', filter: 'state=all', sort: 'started_at' },
  { path: '/admin/enrollment', filter: 'status=active', sort: 'name' },
  { path: '/admin/policy/history', filter: 'channel=stable', sort: 'version' },
  { path: '/admin/updates', filter: 'status=draft', sort: 'created_at' },
]

test('the test covers each list of the console', () => {
  const all = paths.filter((path) => traits[path].list !== undefined)
  assert.deepEqual([...new Set(lists.map(({ path }) => path))].sort(), all.sort())
})

/** Rows of a page, fewer than in production, so that a small fleet has several pages. */
const rowsPerPage = 5

/** Makes the server answer in small pages. Everything else is as in production. */
const withSmallPages = (page: Page) =>
  page.route(/\/v1\/admin\/[a-z/-]+\?.*limit=100/, (route) =>
    route.continue({ url: route.request().url().replace('limit=100', `limit=${rowsPerPage}`) }),
  )

/** Adds several pages of objects that the fleet has few of. */
before(async () => {
  if (inBrowser.skip) return
  const { kit } = await openGround()
  for (let i = 1; i <= 2 * rowsPerPage; i++) {
    const subject = {
      type: 'user',
      id: `usr_01jxz3c9dqf7vr2m8k4s6t0b${String(i).padStart(2, '0')}`,
      name: `user ${i}`,
    } as const
    await raiseNotice(kit, { severity: 'warning', title: `The account of user ${i} is locked`, subject })
    const rules = [{ id: 'all', action: 'allow', from: { any: true }, to: [`10.${i}.0.0/16`] }]
    const policy = { schema: 'holdfast.policy/1', rules }
    await kit.admin.publishPolicy({ body: { channel: 'stable', policy, supersede: true } })
    await kit.admin.changeGroup({ body: { operation: 'create', group: { name: `team ${i}` } } })
    await kit.admin.createRelease({ body: { version: `9.0.${i}`, channel: 'stable' } })
  }
})

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

test('the next page of a list begins at its top, and no row of the last one stays', inBrowser, async (t) => {
  const page = await openPage(t, await openGround(), { as: 'admin' })
  await withSmallPages(page)
  await page.setViewportSize({ width: 1440, height: 400 })
  await page.goto('/admin/devices')
  await settle(page)
  const region = page.getByRole('region', { name: 'devices' })
  const scrolledBy = () => region.evaluate((element) => element.scrollTop)
  const ids = () => page.locator('tr[data-id]').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-id')))
  const first = await ids()
  await page.locator('[data-row-link]').last().scrollIntoViewIfNeeded()
  assert.ok((await scrolledBy()) > 0)
  await page.getByRole('button', { name: 'Next' }).click()
  await page.waitForURL(/cursor=/)
  await settle(page)
  assert.equal(new Set([...first, ...(await ids())]).size, 2 * rowsPerPage)
  assert.equal(await scrolledBy(), 0)
})
