/**
 * Work of which one is under way at a time. Calls that ask for nothing in particular (`isPlain`) share the one that is;
 * the others are made one after the other.
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
