import { minute, second } from '../../../kernel/time.ts'

const shortest = second / 4
const longest = minute

/**
 * Returns the delay after a number of consecutive failures. It doubles from a quarter of a second on. Half of it is
 * random, so that not all retry at once.
 */
export const waitAfter = (failures: number): number => {
  const whole = Math.min(longest, shortest * 2 ** Math.min(failures, 10))
  return whole / 2 + (Math.random() * whole) / 2
}
