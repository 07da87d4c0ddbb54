import type { Server } from './server.ts'

type Verdict = 'met' | 'short' | 'no baseline'
export type Row = {
  /** `P1`… of the design. */
  id: string
  work: string
  figure: string
  baseline: string
  /** Of the median figure to the baseline, where there is one. */
  ratio: number | null
  target: string
  verdict: Verdict
  note?: string
  /** Every round, for whoever wants more than the median. */
  rounds?: Record<string, number[]>
}

export type Scale = {
  quick: boolean
  /** Alternating rounds of which the median counts. */
  rounds: number
  /** Seconds of load per side and round. */
  seconds: number
  /** Of what the design says: devices, waiters. */
  size: (full: number) => number
}

export type Bench = {
  scale: Scale
  /** Says on the terminal what is being done. */
  say: (text: string) => void
  /** Starts a server on an empty data directory, with these variables beside the usual; it ends with the benchmark. */
  startServer: (environment?: Readonly<Record<string, string>>) => Promise<Server>
  /** Ends with the benchmark, whatever happens. */
  defer: (end: () => Promise<unknown>) => void
}

export type Benchmark = { id: string; work: string; run: (bench: Bench) => Promise<Row[]> }

export const verdictOf = (met: boolean): Verdict => (met ? 'met' : 'short')
export const perSecond = (n: number): string => `${Math.round(n).toLocaleString('en')}/s`
export const microseconds = (seconds: number): string => `${(seconds * 1e6).toFixed(0)} µs`
export const milliseconds = (n: number): string => (n >= 1000 ? `${(n / 1000).toFixed(2)} s` : `${n.toFixed(1)} ms`)
export const megabytes = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MB`
