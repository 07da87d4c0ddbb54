/**
 * Lets callers pass in order of arrival, a few per turn of the event loop. Between two groups of a large wake-up, other
 * work gets its turn.
 */
export function createFairScheduler(perTurn: number) {
  let waiting: (() => void)[] = []
  let passed = 0

  const release = (): void => {
    for (const pass of waiting.slice(passed, passed + perTurn)) pass()
    passed += perTurn
    if (passed < waiting.length) setImmediate(release)
    else {
      waiting = []
      passed = 0
    }
  }
  return (): Promise<void> =>
    new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(release)
    })
}
