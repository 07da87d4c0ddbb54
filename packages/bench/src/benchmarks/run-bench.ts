import { fileURLToPath } from 'node:url'
import { benchmarks } from './all.ts'
import { help, readOptions, UsageError } from './options.ts'
import { saveResults } from './results-file.ts'
import { canPin } from './rig/cores.ts'
import type { Bench, Benchmark, Row, Scale } from './rig/result.ts'
import { type Server, startServer } from './rig/server.ts'
import { describeMachine, formatTable } from './table.ts'

const resultsFile = fileURLToPath(new URL('../../results.json', import.meta.url))

/**
 * Runs the named benchmarks and prints their results. Returns 0 after all of them ran, with any figures; 1 if one
 * could not run; 2 for wrong arguments.
 */
export async function runBench(args: string[]): Promise<number> {
  try {
    const options = readOptions(args, benchmarks)
    if (!options) {
      process.stdout.write(help(benchmarks))
      return 0
    }
    const { chosen, quick, profileTo } = options
    const scale: Scale = quick
      ? { quick, rounds: 3, seconds: 1, size: (full) => Math.ceil(full / 20) }
      : { quick, rounds: 5, seconds: 2, size: (full) => full }
    if (!canPin) say('taskset is missing or there is one core: nothing is pinned, and the figures disturb each other')
    const machine = describeMachine()
    const rows: Row[] = []
    const failed: string[] = []
    for (const benchmark of chosen) {
      say(`${benchmark.id} ${benchmark.work}`)
      try {
        const found = await runOne(benchmark, scale, profileTo)
        rows.push(...found)
        // Saved immediately: if a later benchmark ends the process, these results are kept.
        if (!quick && !profileTo) await saveResults(resultsFile, machine, found)
      } catch (e) {
        failed.push(benchmark.id)
        say(`${benchmark.id} could not run: ${(e as Error).stack}`)
      }
    }
    process.stdout.write(
      `\n${machine}${quick ? '; quick: smaller and shorter than the targets mean' : ''}\n\n${formatTable(rows)}`,
    )
    if (!quick && !profileTo && rows.length > 0) process.stdout.write('\nWritten to packages/bench/results.json\n')
    return failed.length > 0 ? 1 : 0
  } catch (e) {
    if (!(e instanceof UsageError)) throw e
    process.stderr.write(`bench: ${e.message}\n`)
    return 2
  }
}

const say = (text: string) => void process.stderr.write(`${text}\n`)

/**
 * Runs one benchmark. Everything that it has started is stopped afterwards, newest first, also on failure or
 * interruption.
 */
async function runOne(benchmark: Benchmark, scale: Scale, profileTo: string | undefined): Promise<Row[]> {
  const ends: (() => Promise<unknown>)[] = []
  const endAll = async () => {
    for (let end = ends.pop(); end; end = ends.pop()) await end().catch((e) => say(String(e)))
  }
  const interrupted = (signal: NodeJS.Signals) =>
    void endAll().then(() => process.exit(signal === 'SIGINT' ? 130 : 143))
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted)
  const bench: Bench = {
    scale,
    say: (text) => say(`  ${text}`),
    defer: (end) => void ends.push(end),
    startServer: async (environment = {}): Promise<Server> => {
      const server = await startServer({ profileTo, environment })
      ends.push(server.remove)
      return server
    },
  }
  try {
    return await benchmark.run(bench)
  } finally {
    await endAll()
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted)
  }
}
