const works = new Set<() => void>()

/** Runs `work` when this process ends, also on interruption or failure. The returned function cancels it. */
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

/** Makes signals end this process, with all clean-ups. */
export function endOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))
}
