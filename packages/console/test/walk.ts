import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { axeFindings } from './axe.ts'
import type { Who } from './fleet.ts'
import type { Ground } from './ground.ts'
import { type Look, openPage, settle } from './page.ts'
import { matchesScreenshot } from './screenshots.ts'
import type { View } from './views.ts'

/**
 * Opens a view and checks all general rules for views; see `views.ts` for the list. With `isCompared`, also compares
 * its reviewed screenshot: the fleet must be unchanged by other tests.
 */
export async function walkView(
  t: TestContext,
  ground: Ground,
  view: View,
  { isCompared = false, ...look }: Required<Look> & { isCompared?: boolean },
): Promise<void> {
  const page = await openPage(t, ground, { ...look, as: view.as as Who, isShared: !isCompared })
  const response = await page.goto(pathOf(view.path, ground.ids))
  await settle(page)
  await view.open?.(page)
  if (view.open) await settle(page)
  assert.equal(response?.status(), view.status ?? 200)
  assert.match(await page.title(), /\S · Holdfast$/)
  assert.equal(await page.locator('h1').count(), 1, 'one h1')
  assert.notEqual((await page.locator('h1').innerText()).trim(), '', 'the h1 has text')
  assert.deepEqual(await axeFindings(page), [])
  if (isCompared) await matchesScreenshot(page, `${view.name}-${look.width}-${look.colorScheme}`)
  if (look.width !== 375) await page.setViewportSize({ width: 375, height: 812 })
  await settle(page)
  assert.equal(await overflow(page), 0, 'pixels by which the page is wider than a window of 375')
}

const overflow = (page: Awaited<ReturnType<typeof openPage>>): Promise<number> =>
  page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    return scrollWidth - clientWidth
  })

/** Replaces `$device_id` and similar with the id of an object of the fleet. */
export function pathOf(path: string, ids: Readonly<Record<string, string>>): string {
  return path.replaceAll(
    /\$(\w+)/g,
    (_, name: string) => ids[name] ?? assert.fail(`the fleet has no ${name} for ${path}`),
  )
}
