import { performance } from 'node:perf_hooks'
import { minute, second } from '../kernel/time.ts'

const lookEveryMs = 5 * second
/** Share of busy time since the last check below which the process counts as idle. */
const idleShare = 0.1
/** Free heap in bytes above which a collection is worth it. */
const worthBytes = 16 * 2 ** 20
/**
 * Largest heap to collect. A larger one takes longer (a millisecond per megabyte of live data) than a new request
 * should wait. Up to 16 MiB of it are the young generation with little live data.
 */
const smallBytes = 60 * 2 ** 20
const atMostEveryMs = minute

/**
 * Returns unused heap to the system after a burst. The engine keeps its young generation for the life of the process,
 * which is most of a small deployment's memory. Runs only while the process is idle, and only if `collect` (Node's
 * `gc`, under `--expose-gc`) is given.
 */
export function collectWhenIdle(
  collect: (() => void) | undefined,
  { memory = process.memoryUsage, everyMs = lookEveryMs }: { memory?: () => HeapSizes; everyMs?: number } = {},
): { stop: () => Promise<void> } {
  let before = performance.eventLoopUtilization()
  let notBefore = 0
  /** Heap size after the last collection. Only growth beyond it leads to another one, not a few requests. */
  let left = 0
  const look = () => {
    const { utilization } = performance.eventLoopUtilization(before)
    before = performance.eventLoopUtilization()
    if (utilization > idleShare || performance.now() < notBefore) return
    const { heapTotal, heapUsed } = memory()
    if (heapUsed > smallBytes || heapTotal - Math.max(heapUsed, left) < worthBytes) return
    notBefore = performance.now() + atMostEveryMs
    collect?.()
    left = memory().heapTotal
  }
  const timer = collect && setInterval(look, everyMs).unref()
  return { stop: async () => clearInterval(timer) }
}
type HeapSizes = { heapTotal: number; heapUsed: number }
