import { setImmediate as otherWork } from 'node:timers/promises'

/** Cuts long work into slices of this many milliseconds, between which other work has its turn. */
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
