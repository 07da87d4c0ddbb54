/** The middle of the values; the mean of the two in the middle where their number is even. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

export function quantile(values: ArrayLike<number>, q: number): number {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN
}

/** The value of a round. */
export const at = (values: readonly number[], round: number): number => values[round] ?? Number.NaN

/** Runs each of the sides once per round, in turn, so that what disturbs the machine disturbs all of them. */
export async function alternate<const S extends Record<string, (round: number) => Promise<number>>>(
  rounds: number,
  sides: S,
): Promise<{ [K in keyof S]: number[] }> {
  const found = Object.fromEntries(Object.keys(sides).map((name) => [name, [] as number[]]))
  for (let round = 0; round < rounds; round++)
    for (const [name, side] of Object.entries(sides)) found[name]?.push(await side(round))
  return found as { [K in keyof S]: number[] }
}

/** The median of the ratios of each round: both halves of a ratio saw the same disturbance. */
export const medianRatio = (values: readonly number[], baselines: readonly number[]): number =>
  median(values.map((v, i) => v / at(baselines, i)))
