/** A number of devices, and how many of them are in trouble. */
type Share = { n: number; troubled: number }

/** Below this the logarithm of n! is summed up. From here Stirling's series is exact to 1e-12. */
const summed = 32

const logFactorial = (n: number): number => {
  if (n >= summed) return (n + 0.5) * Math.log(n) - n + 0.5 * Math.log(2 * Math.PI) + 1 / (12 * n) - 1 / (360 * n ** 3)
  let sum = 0
  for (let i = 2; i <= n; i++) sum += Math.log(i)
  return sum
}
const logChoose = (n: number, k: number): number => logFactorial(n) - logFactorial(k) - logFactorial(n - k)

/**
 * Fisher's exact test, one-sided. Returns the probability that at least as many of `tried` are in trouble, if trouble
 * is spread over both groups at random. Exact for any size; 1 if both are empty.
 */
export function fisherExact(tried: Share, baseline: Share): number {
  const n = tried.n + baseline.n
  const troubled = tried.troubled + baseline.troubled
  const most = Math.min(tried.n, troubled)
  const whole = logChoose(n, tried.n)
  let p = 0
  for (let k = tried.troubled; k <= most; k++) {
    if (tried.n - k > n - troubled) continue
    const term = Math.exp(logChoose(troubled, k) + logChoose(n - troubled, tried.n - k) - whole)
    p += term
    // Far beyond the mode each term is smaller than the one before.
    if (term < p * 1e-15 && k > (troubled * tried.n) / n) break
  }
  return Math.min(1, p)
}
