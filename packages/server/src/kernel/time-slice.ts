import { setImmediate as otherWork } from 'node:timers/promises'

/** Cuts long work into slices of `ms` milliseconds. Other work runs between them. */
export function createSlices(ms = 8) {
  let end = performance.now() + ms
  return {
    isOver: (): boolean => performance.now() >= end,
    next: async (): Promise<void> => {
      await otherWork()
      end = performance.now() + ms
    },
  }
}
export type Slices = ReturnType<typeof createSlices>

/** Work that may pause between its short steps. */
export type Sliced<T> = Generator<undefined, T, undefined>
export function atOnce<T>(steps: Sliced<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}
export async function inSlices<T>(steps: Sliced<T>, slices: Slices): Promise<T> {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    if (slices.isOver()) await slices.next()
  }
}
