/**
 * Preloaded into a process: its wall clock is off by the milliseconds of HOLDFAST_TEST_CLOCK_MS. Durations
 * (`performance.now()`, timers) are left alone, as with a clock that somebody has set wrongly.
 */
const offset = Number(process.env.HOLDFAST_TEST_CLOCK_MS)
const RealDate = Date
const realNow = RealDate.now.bind(RealDate)
globalThis.Date = new Proxy(RealDate, {
  construct: (target, given: [], newTarget) =>
    Reflect.construct(target, given.length === 0 ? [realNow() + offset] : given, newTarget),
  apply: () => new RealDate(realNow() + offset).toString(),
  get: (target, name, receiver) => (name === 'now' ? () => realNow() + offset : Reflect.get(target, name, receiver)),
})
process.stderr.write(`wall clock: ${new Date().toISOString()}\n`)
