import { readFileSync } from 'node:fs'

/**
 * Preloaded into a replica. Shifts its wall clock by the milliseconds in the file HOLDFAST_BENCH_CLOCK, and follows
 * changes of the file. Durations (`performance.now()`, timers) are unaffected, as when a clock is set.
 */
const file = process.env.HOLDFAST_BENCH_CLOCK
if (file) {
  const RealDate = Date
  const realNow = RealDate.now.bind(RealDate)
  let offset = 0
  const read = () => {
    try {
      offset = Number(readFileSync(file, 'utf8')) || 0
    } catch {
      offset = 0
    }
  }
  read()
  setInterval(read, 200).unref()
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, given: [], newTarget) =>
      Reflect.construct(target, given.length === 0 ? [realNow() + offset] : given, newTarget),
    apply: () => new RealDate(realNow() + offset).toString(),
    get: (target, name, receiver) => (name === 'now' ? () => realNow() + offset : Reflect.get(target, name, receiver)),
  })
}
