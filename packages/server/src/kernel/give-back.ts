import { performance } from 'node:perf_hooks'
import { minute, second } from './time.ts'

const lookEveryMs = 5 * second
/** A process that used less of its time than this since the last look has nothing to do. */
const idleShare = 0.1
/** Less is not worth the collection. */
const worthBytes = 16 * 2 ** 20
/**
 * Of a larger heap a collection takes longer (a millisecond for each megabyte that lives) than somebody who comes just
 * then should wait. Up to sixteen of these are young, of which little lives.
 */
const smallBytes = 60 * 2 ** 20
const atMostEveryMs = minute

/**
 * Gives back what a burst has left empty: the engine keeps the room of its young generation for as long as the process
 * runs, which is most of what a small deployment would hold. Only while nothing happens, and only where `collect`
 * (Node's `gc`, under `--expose-gc`) is there.
 */
export function giveBackWhenIdle(
  collect: (() => void) | undefined,
  { memory = process.memoryUsage, everyMs = lookEveryMs }: { memory?: () => HeapSizes; everyMs?: number } = {},
): { stop: () => Promise<void> } {
  let before = performance.eventLoopUtilization()
  let notBefore = 0
  /** What was held after the last collection. A trickle of requests does not ask for another one, only growth does. */
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
