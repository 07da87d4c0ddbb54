type TraceEvent = {
  name: string
  ph: string
  pid: number
  tid: number
  /** CPU time in microseconds. */
  tdur?: number
  args?: { name?: string }
}

/**
 * Returns the longest task of a page in a trace of the category `toplevel`, in ms of CPU time: other processes of a
 * busy machine do not count.
 */
export function longestTaskMs(trace: Buffer): number {
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: TraceEvent[] }
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`
  const pages = new Set(
    traceEvents.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain').map(threadOf),
  )
  const tasks = traceEvents.filter((event) => event.name.endsWith('RunTask') && pages.has(threadOf(event)))
  if (tasks.length === 0) throw new Error(`the trace has no task of a page: ${traceEvents.length} events`)
  return Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1000
}
