import type { Page } from 'playwright-core'

type TraceEvent = {
  name: string
  ph: string
  pid: number
  tid: number
  /** Start in microseconds. */
  ts: number
  /** CPU time in microseconds. */
  tdur?: number
  args?: { name?: string }
}

/** Categories of a trace that have the tasks of the main thread, the names of threads, and the first paint. */
const categories = ['toplevel', 'loading']

type Tasks = {
  longestMs: number
  totalMs: number
  /** Sum of what tasks took beyond 50 ms, from the first contentful paint of a load: its total blocking time. */
  blockedMs: number
}

/**
 * Traces a page while `work` runs, and sums up the tasks of its main thread in milliseconds of the processor: other
 * processes of a busy machine do not count.
 */
export async function traceTasks(page: Page, work: () => Promise<void>): Promise<Tasks> {
  const browser = page.context().browser()
  if (!browser) throw new Error('the page belongs to no browser')
  await browser.startTracing(page, { categories })
  let trace: Buffer
  try {
    await work()
  } finally {
    // A browser has one trace at a time: a failed test must not keep it from the next one.
    trace = await browser.stopTracing()
  }
  return tasksOf(trace)
}

function tasksOf(trace: Buffer): Tasks {
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: TraceEvent[] }
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`
  const pages = new Set(
    traceEvents.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain').map(threadOf),
  )
  const tasks = traceEvents.filter((event) => event.name.endsWith('RunTask') && pages.has(threadOf(event)))
  if (tasks.length === 0) throw new Error(`the trace has no task of a page: ${traceEvents.length} events`)
  const times = tasks.map(({ tdur = 0 }) => tdur / 1000)
  const painted = traceEvents.findLast(({ name }) => name === 'firstContentfulPaint')?.ts ?? 0
  const afterPaint = times.filter((_, i) => tasks[i]!.ts >= painted)
  return {
    longestMs: Math.max(...times),
    totalMs: times.reduce((sum, each) => sum + each, 0),
    blockedMs: afterPaint.reduce((sum, each) => sum + Math.max(0, each - 50), 0),
  }
}
