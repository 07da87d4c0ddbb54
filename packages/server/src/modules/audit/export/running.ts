/** Tracks running exports, so that the shutdown can wait for their last writes. */
export function createRunning() {
  const ends = new Set<Promise<void>>()
  let isStopping = false
  return {
    /** Registers an export. The caller calls the returned function at its end. */
    begin: (): (() => void) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      ends.add(promise)
      return () => {
        ends.delete(promise)
        resolve()
      }
    },
    letGo: (): void => {
      isStopping = true
    },
    /** True once the shutdown has begun. Running exports are cut then. */
    isStopping: (): boolean => isStopping,
    ended: async (): Promise<void> => {
      while (ends.size > 0) await Promise.all(ends)
    },
  }
}
