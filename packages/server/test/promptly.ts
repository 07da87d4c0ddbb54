import { setTimeout as delay } from 'node:timers/promises'

/**
 * Milliseconds within which what is pushed arrives on any machine, however busy: far above what it takes, which the
 * benchmarks say, and below the end of every wait that would bring it anyway.
 */
export const promptly = 15_000

/** Waits for what events bring about; how long it took, in milliseconds. */
export async function until(holds: () => boolean | Promise<boolean>, what = 'it'): Promise<number> {
  const start = performance.now()
  while (!(await holds())) {
    if (performance.now() - start > promptly) throw new Error(`${what} did not come to hold within ${promptly} ms`)
    await delay(5)
  }
  return performance.now() - start
}
