import { setTimeout as delay } from 'node:timers/promises'

/**
 * Time in ms within which pushed data arrives even on a busy machine. It is far above the usual time (see the
 * benchmarks), and below the timeouts after which the data would arrive anyway.
 */
export const promptly = 15_000

/** Waits until a condition holds. Returns the time this took, in ms. */
export async function until(holds: () => boolean | Promise<boolean>, what = 'it'): Promise<number> {
  const start = performance.now()
  while (!(await holds())) {
    if (performance.now() - start > promptly) throw new Error(`${what} did not come to hold within ${promptly} ms`)
    await delay(5)
  }
  return performance.now() - start
}
