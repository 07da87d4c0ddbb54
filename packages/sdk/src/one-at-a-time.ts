/**
 * Runs one task at a time. Calls without special options (`isPlain`) share the running one; others run one after the
 * other.
 */
export function createOneAtATime<T>() {
  let running: Promise<T> | undefined
  return (isPlain: boolean, work: () => Promise<T>): Promise<T> => {
    if (running && isPlain) return running
    const before = running?.catch(() => undefined)
    const one = (before ? before.then(work) : work()).finally(() => {
      if (running === one) running = undefined
    })
    running = one
    return one
  }
}
