import { minute, second } from '../../../kernel/time.ts'

const shortest = second / 4
const longest = minute

/** After so many failures in a row: doubles from a quarter of a second on, half of it by chance, so that not all come at once. */
export const waitAfter = (failures: number): number => {
  const whole = Math.min(longest, shortest * 2 ** Math.min(failures, 10))
  return whole / 2 + (Math.random() * whole) / 2
}
