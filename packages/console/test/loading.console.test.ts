import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { views } from '../src/paths.ts'
import { inBrowser, openGround } from './ground.ts'
import { median } from './paces.ts'
import { openPage, settle } from './page.ts'
import { traceTasks } from './trace.ts'
import { consoleViews } from './views.ts'
import { pathOf } from './walk.ts'

/**
 * Loads of each view. Several give medians, and the times that the slow loads block:
 * `HOLDFAST_TEST_LOADS=3 npm test -- packages/console/test/loading.console.test.ts`.
 */
const loads = Number(process.env.HOLDFAST_TEST_LOADS ?? 1)
/** Bar K7 of the design. Durations depend on the machine, so they are printed and not judged. */
const most = { shift: 0.02 }
/** Slow 4G of Chromium's developer tools, in milliseconds and bytes a second, and a quarter of the processor. */
const slow = { latency: 150, downloadThroughput: (1.6 * 2 ** 20) / 8, uploadThroughput: (750 * 2 ** 10) / 8 }
const slowness = 4

type Figures = {
  /** First and largest contentful paint, in milliseconds after the navigation. */
  first: number
  largest: number
  /** Sum of the layout shifts that no input caused, and the elements that moved. */
  shift: number
  moved: readonly string[]
}

/** Slows the next loads of a page. */
async function slowDown(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  await session.send('Network.emulateNetworkConditions', { offline: false, ...slow })
  await session.send('Emulation.setCPUThrottlingRate', { rate: slowness })
}

async function figures(): Promise<Figures> {
  type Source = { node: Node | null; previousRect: DOMRect; currentRect: DOMRect }
  type Shift = PerformanceEntry & { value: number; hadRecentInput: boolean; sources: Source[] }
  const entries = <E extends PerformanceEntry>(type: string) =>
    new Promise<E[]>((resolve) => {
      new PerformanceObserver((list) => resolve(list.getEntries() as E[])).observe({ type, buffered: true })
      // An observer without entries is never called.
      setTimeout(() => resolve([]), 200)
    })
  const [paints, largest, shifts] = await Promise.all([
    entries('paint'),
    entries('largest-contentful-paint'),
    entries<Shift>('layout-shift'),
  ])
  const moves = shifts.filter((shift) => !shift.hadRecentInput)
  const nameOf = ({ node, previousRect: from, currentRect: to }: Source) =>
    `${node instanceof Element ? `${node.tagName}.${node.className}` : 'text'} from ${from.x},${from.y} to ${to.x},${to.y}`
  return {
    first: paints.find(({ name }) => name === 'first-contentful-paint')?.startTime ?? Number.NaN,
    largest: largest.at(-1)?.startTime ?? Number.NaN,
    shift: moves.reduce((sum, { value }) => sum + value, 0),
    moved: moves.flatMap(({ value, sources }) => sources.map((source) => `${value.toFixed(4)}: ${nameOf(source)}`)),
  }
}

for (const width of [1440, 375] as const)
  for (const { name, path, as } of consoleViews)
    test(`nothing moves while ${name} loads at ${width} pixels`, inBrowser, async (t) => {
      const ground = await openGround()
      const opened = async (isSlow: boolean) => {
        const page = await openPage(t, ground, { ...(as && { as }), width })
        if (isSlow) await slowDown(page)
        const load = async () => {
          await page.goto(pathOf(path, ground.ids))
          await settle(page)
        }
        return { page, load }
      }
      for (const isSlow of [false, true]) {
        const all: Figures[] = []
        for (let n = 0; n < loads; n++) {
          const { page, load } = await opened(isSlow)
          await load()
          all.push(await page.evaluate(figures))
          await page.close()
        }
        const of = (figure: 'first' | 'largest') => Math.round(median(all.map((each) => each[figure])))
        t.diagnostic(
          `${name} ${width}${isSlow ? ', slow' : ''}: first paint ${of('first')} ms, largest ${of('largest')} ms, ` +
            `shift ${Math.max(...all.map(({ shift }) => shift)).toFixed(4)}`,
        )
        for (const { shift, moved } of all) assert.ok(shift <= most.shift, `${shift} in all:\n${moved.join('\n')}`)
      }
      if (loads === 1) return
      // A trace takes long and delays the paints, so these loads are others.
      const blocked: number[] = []
      for (let n = 0; n < loads; n++) {
        const { page, load } = await opened(true)
        blocked.push((await traceTasks(page, load)).blockedMs)
        await page.close()
      }
      t.diagnostic(`${name} ${width}, slow: blocked ${Math.round(median(blocked))} ms of the processor`)
    })

test('each view sends the first reads that its page announces', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openPage(t, ground, { as: 'admin' })
  const sent = new Set<string>()
  page.on('request', (request) => sent.add(request.url().replace(ground.kit.publicUrl, '')))
  for (const [path, { reads }] of Object.entries(views)) {
    sent.clear()
    // A page announces no reads for an address with parameters.
    await page.goto(`${pathOf(path, ground.ids)}?tz=utc`)
    await settle(page)
    assert.deepEqual(
      reads.filter((read) => !sent.has(read)),
      [],
      `${path} sent ${[...sent].filter((one) => one.startsWith('/v1')).join(' ')}`,
    )
    assert.equal(await page.locator('link[as="fetch"]').count(), 0)
    await page.goto(pathOf(path, ground.ids))
    assert.equal(await page.locator('link[as="fetch"]').count(), reads.length, path)
  }
})
