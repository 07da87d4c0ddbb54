import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { type Ground, inBrowser, openGround } from './ground.ts'
import { median } from './paces.ts'
import { openPage, settle } from './page.ts'
import { consoleViews } from './views.ts'
import { pathOf } from './walk.ts'

/** Connection and processor of a person on the road: DevTools' "slow 4G" and a processor of a quarter of the speed. */
const slow = { latency: 150, downloadThroughput: (1.6 * 1024 * 1024) / 8, uploadThroughput: (750 * 1024) / 8 }
const slowness = 4

type Figures = { fcp: number; lcp: number; shift: number; blocked: number }

/** Loads a view with an empty cache, and returns its figures: milliseconds, and the sum of layout shifts. */
async function load(page: Page, path: string, isSlow: boolean): Promise<Figures> {
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  await session.send('Network.clearBrowserCache')
  if (isSlow) {
    await session.send('Network.emulateNetworkConditions', { offline: false, ...slow })
    await session.send('Emulation.setCPUThrottlingRate', { rate: slowness })
  }
  await page.goto(path)
  await settle(page)
  await page.waitForTimeout(500)
  const figures = await page.evaluate(figuresOf)
  await session.detach()
  return figures
}

async function figuresOf(): Promise<Figures & { where: string[] }> {
  type Shift = PerformanceEntry & {
    value: number
    hadRecentInput: boolean
    sources: { node: Node | null; previousRect: DOMRect; currentRect: DOMRect }[]
  }
  const buffered = <E extends PerformanceEntry>(type: string) =>
    new Promise<E[]>((resolve) => {
      new PerformanceObserver((list) => resolve(list.getEntries() as E[])).observe({ type, buffered: true })
      setTimeout(() => resolve([]), 200)
    })
  const [paints, largest, shifts, tasks] = await Promise.all([
    buffered('paint'),
    buffered('largest-contentful-paint'),
    buffered<Shift>('layout-shift'),
    buffered('longtask'),
  ])
  const fcp = paints.find(({ name }) => name === 'first-contentful-paint')?.startTime ?? Number.NaN
  const moved = shifts.filter((shift) => !shift.hadRecentInput)
  const blocked = tasks.map((task) => task.duration - 50)
  return {
    fcp,
    lcp: largest.at(-1)?.startTime ?? Number.NaN,
    shift: moved.reduce((sum, { value }) => sum + value, 0),
    blocked: blocked.reduce((sum, ms) => sum + ms, 0),
    where: moved.map(
      ({ value, startTime, sources }) =>
        `${value.toFixed(4)} at ${Math.round(startTime)}: ${sources
          .map(({ node, previousRect: a, currentRect: b }) => {
            const element = node instanceof Element ? node : node?.parentElement
            return `${element?.tagName}.${element?.className} ${a.x},${a.y},${a.width}x${a.height} -> ${b.x},${b.y},${b.width}x${b.height}`
          })
          .join('; ')}`,
    ).concat(tasks.map((x) => `task ${Math.round(x.startTime)} +${Math.round(x.duration)}`), largest.map((l: any) => `lcp ${Math.round(l.startTime)} ${l.element?.tagName}.${l.element?.className} ${l.element?.textContent?.slice(0, 30)}`)),
  }
}

for (const width of [1440, 375] as const)
  for (const view of consoleViews.filter((v) => new RegExp(process.env.VIEWS ?? '').test(v.name)))
    test(`${view.name} at ${width} px`, inBrowser, async (t) => {
      const ground = await openGround()
      const path = pathOf(view.path, ground.ids)
      for (const isSlow of [false, true]) {
        const all: Figures[] = []
        for (let n = 0; n < 3; n++) {
          const page = await openPage(t, ground, { as: 'admin', width })
          all.push(await load(page, path, isSlow))
          await page.close()
        }
        const of = (name: keyof Figures) => median(all.map((f) => f[name]))
        t.diagnostic(
          `${view.name} ${width}${isSlow ? ' slow' : ''}: FCP ${Math.round(of('fcp'))} LCP ${Math.round(of('lcp'))} shift ${of('shift').toFixed(4)} blocked ${Math.round(of('blocked'))}`,
        )
        if (process.env.WHERE) for (const line of (all[0] as any).where) t.diagnostic('   ' + line)
      }
    })
