/** What runs until its taker has all of it, so that whoever stops can wait for what it still writes. */
export function createRunning() {
  const ends = new Set<Promise<void>>()
  let isStopping = false
  return {
    /** Call what it gives back at its end. */
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
    /** Whoever takes is being cut, or will be. */
    isStopping: (): boolean => isStopping,
    ended: async (): Promise<void> => {
      while (ends.size > 0) await Promise.all(ends)
    },
  }
}
