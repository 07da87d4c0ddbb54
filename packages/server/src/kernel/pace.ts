/**
 * Lets callers pass in the order in which they came, a few in each turn of the loop: a herd that was waiting for one
 * thing gives way, between any two handfuls, to whatever else has arrived.
 */
export function createPace(perTurn: number) {
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
