import { day, hour, minute, second } from '../../kernel/time.ts'

/** Intervals between points (ms), by age of the publication. After `followedMs` there are no more points. */
const parts = [
  { fromMs: 0, stepMs: 10 * second },
  { fromMs: 10 * minute, stepMs: 5 * minute },
  { fromMs: day, stepMs: hour },
] as const
export const followedMs = 30 * day

/** Times of the points after `afterMs` (null: from the publication on) and up to `untilMs`, in ms. */
export function gridTimes(publishedMs: number, afterMs: number | null, untilMs: number): number[] {
  const times: number[] = []
  for (const [i, { fromMs, stepMs }] of parts.entries()) {
    const endMs = parts[i + 1]?.fromMs ?? followedMs + 1
    const firstOf = afterMs === null ? 0 : Math.floor((afterMs - publishedMs - fromMs) / stepMs) + 1
    for (let age = fromMs + Math.max(0, firstOf) * stepMs; age < endMs && publishedMs + age <= untilMs; age += stepMs)
      times.push(publishedMs + age)
  }
  return times
}
