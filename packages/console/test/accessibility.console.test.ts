import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { inBrowser, openGround } from './ground.ts'
import { openPage, settle } from './page.ts'
import { consoleViews } from './views.ts'
import { pathOf } from './walk.ts'

/** Most Tab stops of a view that are tried: all of its frame, and the first ones of its content. */
const mostStops = 45

type Stop = { name: string; isSeen: boolean }

/** Presses Tab through the page once. Returns for each stop whether its focus is visible. */
async function stopsOf(page: Page): Promise<Stop[]> {
  const stops: Stop[] = []
  const seen = new Set<string>()
  let left = 0
  while (stops.length < mostStops && left < 2) {
    await page.keyboard.press('Tab')
    const stop = await page.evaluate(focusedNow)
    if (stop === undefined) {
      // After the last control the focus leaves the page. The next key moves it to the first control.
      left++
      continue
    }
    if (seen.has(stop.place)) break
    seen.add(stop.place)
    stops.push(stop)
  }
  return stops
}

/**
 * Returns the focused element. Its focus is visible if it is on the screen and has an outline, or a close ancestor has
 * one.
 */
function focusedNow(): (Stop & { place: string }) | undefined {
  const element = document.activeElement
  if (!element || element === document.body) return undefined
  const hasLine = (one: Element): boolean => {
    const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(one)
    return outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 1 && !/^rgba.*, 0\)$/.test(outlineColor)
  }
  const around: Element[] = []
  for (let at: Element | null = element; at && around.length < 4; at = at.parentElement) around.push(at)
  const { left, right, top, bottom, width, height } = element.getBoundingClientRect()
  const isOnScreen = right > 0 && bottom > 0 && left < innerWidth && top < innerHeight && width > 0 && height > 0
  const all = Array.from(document.querySelectorAll('*'))
  return {
    place: String(all.indexOf(element)),
    name: `${element.tagName} ${element.getAttribute('aria-label') ?? element.textContent?.trim().slice(0, 40) ?? ''}`,
    isSeen: isOnScreen && around.some(hasLine),
  }
}

/**
 * Returns controls that are partly unreachable: outside a window edge that does not scroll, or cut off by their box.
 */
const cutControls = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const isShown = (one: Element) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true })
    const scrolls = (one: Element | null): boolean =>
      one !== null &&
      ((one.scrollWidth > one.clientWidth && /auto|scroll/.test(getComputedStyle(one).overflowX)) ||
        scrolls(one.parentElement))
    const isHiddenFromSight = (one: Element) => one.closest('.skip, .vh, .sr') !== null
    const controls = Array.from(
      document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea'),
    )
    return controls
      .filter((one) => isShown(one) && !isHiddenFromSight(one))
      .filter((one) => {
        const { left, right, width } = one.getBoundingClientRect()
        const isBeyond = width > 0 && (left < -1 || right > document.documentElement.clientWidth + 1)
        return isBeyond && !scrolls(one.parentElement)
      })
      .map((one) => `${one.tagName}.${one.className} ${one.getAttribute('aria-label') ?? one.textContent?.trim()}`)
  })

for (const view of consoleViews) {
  test(`${view.name}: usable at 200 % zoom`, inBrowser, async (t) => {
    const ground = await openGround()
    // A window of 1440 × 900 at 200 % zoom has this viewport in CSS pixels.
    const options = { viewport: { width: 720, height: 450 }, deviceScaleFactor: 2 }
    const page = await openPage(t, ground, { as: 'admin', options })
    await page.goto(pathOf(view.path, ground.ids))
    await settle(page)
    assert.equal(
      await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
      0,
      'nothing is beside it',
    )
    assert.deepEqual(await cutControls(page), [])
    const stops = await stopsOf(page)
    // A sheet has few controls, and the page behind it has none while it is open.
    assert.ok(stops.length > 4, `${stops.length} stops`)
    assert.deepEqual(
      stops.filter((stop) => !stop.isSeen),
      [],
      'the focus can be seen at each stop',
    )
  })

  test(`${view.name}: usable in forced colours`, inBrowser, async (t) => {
    const ground = await openGround()
    const page = await openPage(t, ground, { as: 'admin', options: { forcedColors: 'active' } })
    await page.goto(pathOf(view.path, ground.ids))
    await settle(page)
    assert.deepEqual(await marksLost(page), [], 'marks, icons and cells that cannot be seen')
    assert.deepEqual(await edgesLost(page), [], 'controls without an edge or a line')
    const stops = await stopsOf(page)
    assert.deepEqual(
      stops.filter((stop) => !stop.isSeen),
      [],
      'the focus can be seen at each stop',
    )
  })
}

/** Returns state marks without contrast to the page. A background or an edge draws their shape. */
const marksLost = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const behind = (one: Element | null): string => {
      if (!one) return getComputedStyle(document.documentElement).backgroundColor
      const { backgroundColor } = getComputedStyle(one)
      return backgroundColor === 'rgba(0, 0, 0, 0)' ? behind(one.parentElement) : backgroundColor
    }
    const isClear = (colour: string, ground: string) => colour === 'rgba(0, 0, 0, 0)' || colour === ground
    return Array.from(document.querySelectorAll('main :is(.d, .cell, .sw)')).flatMap((one) => {
      const ground = behind(one.parentElement)
      const { backgroundColor, borderTopColor, borderTopWidth, backgroundImage } = getComputedStyle(one)
      const drawn = getComputedStyle(one, '::before')
      const hasEdge = Number.parseFloat(borderTopWidth) > 0 && !isClear(borderTopColor, ground)
      const isSeen =
        !isClear(backgroundColor, ground) ||
        hasEdge ||
        backgroundImage !== 'none' ||
        (drawn.content !== 'none' && !isClear(drawn.backgroundColor, ground))
      return isSeen || !one.checkVisibility() ? [] : [one.outerHTML.slice(0, 120)]
    })
  })

const edgesLost = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    Array.from(document.querySelectorAll('.btn, input.in-t, select'))
      .filter((one) => {
        const { borderTopWidth, textDecorationLine } = getComputedStyle(one)
        const isMarked = Number.parseFloat(borderTopWidth) > 0 || textDecorationLine === 'underline'
        return one.checkVisibility() && !isMarked
      })
      .map((one) => one.outerHTML.slice(0, 120)),
  )

/** Returns the names of animations and transitions that take longer than a person notices. */
const moving = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const seconds = (list: string) =>
      Math.max(...list.split(',').map((one) => Number.parseFloat(one) * (one.trim().endsWith('ms') ? 0.001 : 1)))
    return Array.from(document.querySelectorAll('*')).flatMap((one) => {
      const { transitionDuration, animationDuration, animationName } = getComputedStyle(one)
      const moves =
        seconds(transitionDuration) > 0.01 || (animationName !== 'none' && seconds(animationDuration) > 0.01)
      return moves ? [`${one.tagName}.${one.className}`] : []
    })
  })

test('nothing moves for a person who prefers reduced motion', inBrowser, async (t) => {
  const ground = await openGround()
  for (const reducedMotion of ['reduce', 'no-preference'] as const) {
    const page = await openPage(t, ground, { as: 'admin', options: { reducedMotion } })
    await page.goto('/admin/devices')
    await settle(page)
    const still = await moving(page)
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').waitFor()
    const all = [...still, ...(await moving(page))]
    if (reducedMotion === 'reduce') assert.deepEqual(all, [])
    else assert.notDeepEqual(all, [], 'others see motion')
  }
})
