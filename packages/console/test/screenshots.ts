import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Page } from 'playwright-core'
import { ownBrowser } from './chromium.ts'
import { decodePng, encodePng, type Picture } from './png.ts'

/** True if the test writes the reviewed screenshots anew. The variable does the same for the other reviewed files. */
const isUpdate = process.env.UPDATE_GOLDEN === '1'
const kept = join(import.meta.dirname, 'screenshots')
const failed = process.env.HOLDFAST_TEST_SCREENSHOTS

/** Edge of the compared blocks in pixels. In a block, a different time or id has little weight. */
const block = 8
/** Largest average difference of all blocks from the reviewed ones, of 255. */
const meanBound = 2.5
/** Difference from which a block counts as different. At most `shareBound` percent of the blocks may be different. */
const differs = 40
const shareBound = 3

/** Compares the page with the reviewed screenshot of this name. Set `UPDATE_GOLDEN=1` to write the screenshot. */
export async function matchesScreenshot(page: Page, name: string): Promise<void> {
  const now = decodePng(await page.screenshot({ animations: 'disabled', caret: 'hide', scale: 'css' }))
  const file = join(kept, `${name}.png`)
  if (isUpdate) return write(file, now)
  // Another browser has other fonts.
  if (ownBrowser) return
  assert.ok(existsSync(file), `no reviewed screenshot ${name}.png: run this test with UPDATE_GOLDEN=1 and look at it`)
  const before = decodePng(readFileSync(file))
  const problem = difference(before, now)
  if (problem && failed) write(join(failed, `${name}.png`), now)
  assert.equal(
    problem,
    undefined,
    `${name}.png: the page looks different. HOLDFAST_TEST_SCREENSHOTS=<folder> keeps what it shows; UPDATE_GOLDEN=1 accepts it`,
  )
}

function write(file: string, picture: Picture): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, encodePng(picture))
}

/** Describes the difference between two screenshots; undefined if it is within the limits. */
export function difference(before: Picture, now: Picture): string | undefined {
  const [size, sizeNow] = [before, now].map(({ width, height }) => `${width} × ${height}`)
  if (size !== sizeNow) return `it is ${sizeNow} pixels, and was ${size}`
  const [a, b] = [blocksOf(before), blocksOf(now)]
  const apart = Array.from(a, (value, i) => Math.abs(value - b[i]!))
  const mean = apart.reduce((sum, one) => sum + one, 0) / apart.length
  const share = (apart.filter((one) => one > differs).length / apart.length) * 100
  return mean > meanBound || share > shareBound
    ? `${mean.toFixed(2)} of 255 apart on average (bound ${meanBound}), ${share.toFixed(2)} % of its blocks differ (bound ${shareBound} %)`
    : undefined
}

/** Returns the mean of each channel in each block. */
function blocksOf({ width, height, rgb }: Picture): Float64Array {
  const [across, down] = [Math.ceil(width / block), Math.ceil(height / block)]
  const sums = new Float64Array(across * down * 3)
  const counts = new Float64Array(across * down)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const at = Math.floor(y / block) * across + Math.floor(x / block)
      counts[at]!++
      for (let c = 0; c < 3; c++) sums[at * 3 + c]! += rgb[(y * width + x) * 3 + c]!
    }
  return sums.map((sum, i) => sum / counts[Math.floor(i / 3)]!)
}
