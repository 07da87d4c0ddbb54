/** Runs `work` on every item, at most `width` at a time; rejects with the first failure. */
export async function inParallel<T>(
  items: Iterable<T>,
  width: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const queue = items[Symbol.iterator]()
  const worker = async () => {
    for (let next = queue.next(); !next.done; next = queue.next()) await work(next.value)
  }
  await Promise.all(Array.from({ length: width }, worker))
}

/** Returns the result of `promise`, or undefined after `seconds`. */
export async function within<T>(seconds: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, seconds * 1000, undefined)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Milliseconds since the epoch, comparable between the processes of one machine and finer than `Date.now()`. */
export const clock = (): number => performance.timeOrigin + performance.now()
