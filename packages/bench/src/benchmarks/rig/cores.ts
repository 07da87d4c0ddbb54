import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** The measured process and the load run on different cores. */
export const measuredCore = 0
export const loadCore = 1

/** False without `taskset` or with a single core. Nothing is pinned then, and the report says so. */
export const canPin: boolean =
  process.platform === 'linux' && availableParallelism() > 1 && spawnSync('taskset', ['-V']).status === 0

/** The command line that runs `command` on one core. */
export const onCore = (core: number, command: readonly string[]): [file: string, args: string[]] => {
  const [file = '', ...args] = canPin ? ['taskset', '-c', String(core), ...command] : command
  return [file, args]
}

/** Moves every thread of a running process to one core. Child processes that already run stay where they are. */
export function moveToCore(core: number, pid: number): void {
  moveToCores([core], pid)
}

export function moveToCores(cores: readonly number[], pid: number): void {
  if (canPin) spawnSync('taskset', ['-acp', cores.join(), String(pid)])
}
