import type { BareCalls } from './bare-process.ts'
import { type Helper, startHelper } from './calls.ts'
import { loadCore, measuredCore } from './cores.ts'
import type { Load, LoadCalls } from './load-process.ts'
import type { Bench } from './result.ts'

export type Rig = { bare: Helper<BareCalls>; load: Helper<LoadCalls> }

/** The two helpers of a comparison: a bare server on the measured core, and the load on the other. */
export function startRig(bench: Bench): Rig {
  const bare = startHelper<BareCalls>('bare-process.ts', measuredCore)
  bench.defer(bare.stop)
  const load = startHelper<LoadCalls>('load-process.ts', loadCore)
  bench.defer(load.stop)
  return { bare, load }
}

/** Answers per second. Throws unless every answer has the expected status. */
export function rateOf(load: Load, status: number): number {
  const other = Object.entries(load.statuses).filter(([found]) => Number(found) !== status)
  if (other.length > 0 || load.broken > 0)
    throw new Error(
      `expected only ${status}; got ${JSON.stringify(load.statuses)} and ${load.broken} broken connections`,
    )
  return load.answered / load.seconds
}

/** A note on how busy the load generator was: it may have been the limit. */
export const busyNote = (loads: readonly Load[]): string =>
  `load generator busy ${Math.round(100 * Math.max(...loads.map((l) => l.busy)))} % at most`
