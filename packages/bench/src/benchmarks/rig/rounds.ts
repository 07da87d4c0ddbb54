/** The median. For an even number of values, it is the mean of the two in the middle. */
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

/** Runs each side once per round, alternately, so that disturbances of the machine affect all of them. */
export async function alternate<const S extends Record<string, (round: number) => Promise<number>>>(
  rounds: number,
  sides: S,
): Promise<{ [K in keyof S]: number[] }> {
  const found = Object.fromEntries(Object.keys(sides).map((name) => [name, [] as number[]]))
  for (let round = 0; round < rounds; round++)
    for (const [name, side] of Object.entries(sides)) found[name]?.push(await side(round))
  return found as { [K in keyof S]: number[] }
}

/** The median of the ratios of each round: both values of a ratio had the same disturbances. */
export const medianRatio = (values: readonly number[], baselines: readonly number[]): number =>
  median(values.map((v, i) => v / at(baselines, i)))
