import { performance } from 'node:perf_hooks'
import { counter, gauge, type Metric } from './exposition.ts'

const startedAt = (Date.now() - performance.now()) / 1000

/** Metrics of the process, under the usual exporter names. */
export function processMetrics(): Metric[] {
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed } = process.memoryUsage()
  const { idle, active } = performance.eventLoopUtilization()
  return [
    counter('process_cpu_seconds_total', 'Processor time spent, of user and system.', (user + system) / 1e6),
    gauge('process_resident_memory_bytes', 'Resident memory.', rss),
    gauge('process_start_time_seconds', 'When the process was started, in seconds since 1970.', startedAt),
    gauge('nodejs_heap_size_used_bytes', 'Memory in use on the heap of JavaScript.', heapUsed),
    counter('nodejs_eventloop_active_seconds_total', 'Time in which the event loop was busy.', active / 1000),
    counter('nodejs_eventloop_idle_seconds_total', 'Time in which the event loop was idle.', idle / 1000),
  ]
}
