const works = new Set<() => void>()

/** Runs when this process ends, also when it was interrupted or failed. What it returns takes that back. */
export function atEnd(work: () => void): () => void {
  works.add(work)
  return () => void works.delete(work)
}

process.once('exit', () => {
  for (const work of [...works].reverse())
    try {
      work()
    } catch (e) {
      process.stderr.write(`${e}\n`)
    }
})

/** A signal ends this process with everything that is to be done at its end. */
export function endOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))
}
