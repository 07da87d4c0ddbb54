import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { axeFindings } from './axe.ts'
import { inBrowser, openGround } from './ground.ts'
import { openPage } from './page.ts'
import { decodePng, encodePng } from './png.ts'
import { difference } from './screenshots.ts'

/** Mistakes of a page, each with the message that the test must report. */
const mistakes: Readonly<Record<string, [make: (page: Page) => Promise<unknown>, says: RegExp]>> = {
  'an inline style': [
    (page) =>
      page.evaluate(() => document.body.append(Object.assign(document.createElement('style'), { textContent: 'p{}' }))),
    /security policy violation: style-src-elem inline/,
  ],
  'a script that throws': [
    (page) => page.evaluate(() => void setTimeout(() => Promise.reject(new Error('forgotten')))),
    /thrown: Error: forgotten/,
  ],
  'an error in the log': [
    (page) => page.evaluate(() => console.error('a key is missing')),
    /console: a key is missing/,
  ],
  'a request to another origin': [
    (page) => page.goto('http://elsewhere.example/').catch(() => {}),
    /asks another origin: http:\/\/elsewhere\.example/,
  ],
  'an answer of 500': [
    async (page) => {
      await page.route('**/admin/login?broken', (route) => route.fulfill({ status: 500, body: 'broken' }))
      await page.goto('/admin/login?broken')
    },
    /500 for .*\/admin\/login\?broken/,
  ],
}

test('a mistake of a page fails its test', inBrowser, async (t) => {
  const ground = await openGround()
  for (const [mistake, [make, says]] of Object.entries(mistakes))
    await t.test(mistake, async () => {
      const ends: (() => Promise<void>)[] = []
      const inner = { after: (end: () => Promise<void>) => void ends.push(end) } as unknown as TestContext
      const page = await openPage(inner, ground)
      await page.goto('/admin/login')
      await make(page)
      await page.waitForTimeout(50)
      await assert.rejects(Promise.all(ends.map((end) => end())), says)
    })
})

test('axe finds a field without a label, also under the content security policy', inBrowser, async (t) => {
  const page = await openPage(t, await openGround())
  await page.goto('/admin/login')
  assert.deepEqual(await axeFindings(page), [])
  await page.evaluate(() => document.querySelector('main')?.append(document.createElement('input')))
  assert.match((await axeFindings(page)).join('\n'), /^label: /m)
})

test('a stored screenshot is small, and a different one is recognised', inBrowser, async (t) => {
  const page = await openPage(t, await openGround())
  await page.goto('/admin/login')
  const taken = await page.screenshot()
  const picture = decodePng(taken)
  const kept = encodePng(picture)
  assert.ok(kept.length < 30_000, `${kept.length} bytes`)
  assert.equal(difference(decodePng(kept), picture), undefined, 'the stored picture equals the page')
  await page.getByText('Sign in to another tenant').click()
  assert.match(difference(picture, decodePng(await page.screenshot())) ?? '', /apart on average/)
  await page.setViewportSize({ width: 375, height: 812 })
  assert.match(
    difference(picture, decodePng(await page.screenshot())) ?? '',
    /it is 375 × 812 pixels, and was 1440 × 900/,
  )
})
