import type { Server } from './server.ts'

type Verdict = 'met' | 'short' | 'no baseline'
export type Row = {
  /** Id in the design, such as `P1`. */
  id: string
  work: string
  figure: string
  baseline: string
  /** Ratio of the median figure to the baseline, if there is one. */
  ratio: number | null
  target: string
  verdict: Verdict
  note?: string
  /** The figures of every round. */
  rounds?: Record<string, number[]>
}

export type Scale = {
  quick: boolean
  /** Number of alternating rounds; the median counts. */
  rounds: number
  /** Seconds of load per side and round. */
  seconds: number
  /** Scales a number of the design, such as devices or waiters. */
  size: (full: number) => number
}

export type Bench = {
  scale: Scale
  /** Prints the current step on the terminal. */
  say: (text: string) => void
  /**
   * Starts a server on an empty data directory, with these variables added. It is stopped at the end of the benchmark.
   */
  startServer: (environment?: Readonly<Record<string, string>>) => Promise<Server>
  /** Runs `end` at the end of the benchmark, also after a failure. */
  defer: (end: () => Promise<unknown>) => void
}

export type Benchmark = { id: string; work: string; run: (bench: Bench) => Promise<Row[]> }

export const verdictOf = (met: boolean): Verdict => (met ? 'met' : 'short')
export const perSecond = (n: number): string => `${Math.round(n).toLocaleString('en')}/s`
export const microseconds = (seconds: number): string => `${(seconds * 1e6).toFixed(0)} µs`
export const milliseconds = (n: number): string => (n >= 1000 ? `${(n / 1000).toFixed(2)} s` : `${n.toFixed(1)} ms`)
export const megabytes = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MB`
