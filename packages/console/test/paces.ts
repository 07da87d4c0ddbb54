import type { Page } from 'playwright-core'

const share = (numbers: readonly number[], part: number): number =>
  numbers.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(numbers.length * part) - 1)] ?? 0
export const median = (numbers: readonly number[]): number => share(numbers, 0.5)
export const percentile95 = (numbers: readonly number[]): number => share(numbers, 0.95)

/** The JavaScript heap of a page in MB, after a collection of garbage. */
export async function heapMb(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await session.detach()
  return usedSize / 2 ** 20
}

/**
 * Presses an element by its selector and text: the milliseconds until other rows are painted. Rows below the screen
 * follow; the promise resolves when all have come.
 */
export const paintedAfter = (page: Page, selector: string, text: string): Promise<number> =>
  page.evaluate(
    async ([selector, text]) => {
      const ids = () => [...document.querySelectorAll('tr[data-id]')].map((row) => row.getAttribute('data-id'))
      const onScreen = () => ids().slice(0, 20).join()
      const frame = () => new Promise((drawn) => requestAnimationFrame(drawn))
      const found = [...document.querySelectorAll<HTMLElement>(selector)]
      const pressed = found.find((element) => element.textContent?.startsWith(text))
      if (!pressed || pressed.ariaDisabled === 'true') throw new Error(`${text} cannot be pressed`)
      const [before, began] = [onScreen(), performance.now()]
      pressed.click()
      while (onScreen() === before) {
        if (performance.now() - began > 15_000) throw new Error(`no other rows came within 15 s of ${text}`)
        await frame()
      }
      // What is drawn in one frame is painted before the next one begins.
      await frame()
      const took = performance.now() - began
      for (let [still, last] = [0, '']; still < 3; still++) {
        await frame()
        const now = ids().join()
        if (now !== last) still = 0
        last = now
      }
      return took
    },
    [selector, text] as const,
  )

/** Scrolls the longest part of the page down: the milliseconds between frames. */
export const scrollFrames = (page: Page): Promise<number[]> =>
  page.evaluate(async () => {
    const frames: number[] = []
    const nextFrame = () => new Promise<number>((drawn) => requestAnimationFrame(drawn))
    const hidden = (element: Element) => element.scrollHeight - element.clientHeight
    const [longest] = [...document.querySelectorAll('*')].sort((a, b) => hidden(b) - hidden(a))
    let last = await nextFrame()
    for (let at = 0; at < 60; at++) {
      longest?.scrollBy(0, 80)
      const now = await nextFrame()
      frames.push(now - last)
      last = now
    }
    return frames
  })
